/**
 * Payments and collections, event by event: legal transitions, amounts that do not change, IDs that follow from the
 * Idempotency-Key, and at the end the money of each originator.
 */
import { hash } from 'node:crypto';
import { streamNameOf } from '@pis/domain';
import type { JsonObject } from '@pis/event-store';
import { type From, type Status, statuses, transitionOf } from './payment-rules.js';
import type { EventReading } from './stored-event.js';
import { framesOf, type StateReader } from './state-file.js';
import type { StreamTable } from './stream-table.js';

/** Minor units: the amounts of payments, also of those of which less came back. */
export interface MoneyOfOriginator {
  completed: number;
  returned: number;
}

/** What a payment keeps from its first event on. */
const termFields = [
  'paymentId',
  'organizationId',
  'originatorId',
  'amountMinor',
  'discountFeeMinor',
  'flatFeeMinor',
  'returnFeeMinor',
  'currencyCode',
  'direction',
] as const;
const created = ['PaymentAwaitingConfirmation', 'PaymentQueued'];

export class PaymentAudit {
  readonly #originators = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #money: MoneyOfOriginator[] = [];
  /** The terms of payments that wait for their counterparty, by row: their second event repeats them. */
  readonly #waiting = new Map<number, readonly unknown[]>();
  /** Minor units: what came back of payments of which less came back, by row. */
  readonly #cameBack = new Map<number, number>();

  constructor(private readonly streams: StreamTable) {}

  /** What is wrong with the event; the next one is checked as if it were right. */
  take(row: number, reading: EventReading): string[] {
    const { event, data } = reading;
    const name = streamNameOf(event.streamId);
    if (name === null || (name.category !== 'payment' && name.category !== 'collection')) return [];
    const from: From = statuses[this.streams.status(row) - 1] ?? null;
    const transition = transitionOf(from, event.type);
    // Of an unknown type: found by its schema.
    if (transition === null) return [];
    const found = transition.isLegal
      ? []
      : [`${event.type} is no legal transition from ${from ?? 'nothing'}`];
    if (created.includes(event.type)) {
      found.push(...this.#takeTerms(row, data));
      if (from === null) found.push(...identityOf(name, reading));
    }
    if (event.type === 'PaymentReturned') found.push(...this.#partOf(row, data));
    if (event.type === 'PaymentReturnedAgain') found.push(...this.#restOf(row, data));
    if (event.type !== 'PaymentAwaitingConfirmation') this.#waiting.delete(row);
    if (transition.to !== null) this.#moveTo(row, transition.to);
    return found;
  }

  /** Originators whose completed and returned money is not that of the payments as they stand. */
  *imbalances(): Generator<string> {
    const standing = new Float64Array(this.#money.length);
    for (let row = 0; row < this.streams.size; row += 1) {
      if (statuses[this.streams.status(row) - 1] !== 'COMPLETED') continue;
      const originator = this.streams.originator(row);
      standing[originator] = (standing[originator] ?? 0) + this.streams.amountMinor(row);
    }
    for (const [originator, { completed, returned }] of this.#money.entries()) {
      const stands = standing[originator] ?? 0;
      if (completed - returned !== stands)
        yield `originator ${this.#names[originator]}: ${completed} completed less ${returned} returned is not the ` +
          `${stands} of its completed payments (minor units)`;
    }
  }

  /** What it remembers beside the table of streams, for `restore`. */
  *parts(): Generator<Uint8Array, void, undefined> {
    const money = this.#names.map((name, number) => [name, this.#money[number]]);
    yield* framesOf(money);
    yield* framesOf(this.#waitingTerms());
    yield* framesOf(this.#cameBack);
  }

  /** Takes what `parts` gave. Of an audit that has taken nothing. */
  async restore(reader: StateReader): Promise<void> {
    for await (const record of reader.records()) {
      const [name, money] = record as [string, MoneyOfOriginator];
      this.#originators.set(name, this.#names.push(name) - 1);
      this.#money.push(money);
    }
    for await (const record of reader.records()) {
      const [row, terms] = record as [number, Readonly<Record<string, unknown>>];
      this.#waiting.set(
        row,
        termFields.map((field) => terms[field]),
      );
    }
    for await (const record of reader.records()) {
      const [row, cameBackMinor] = record as [number, number];
      this.#cameBack.set(row, cameBackMinor);
    }
  }

  /** By name: JSON has no undefined in an array, and a missing term is not a null one. */
  *#waitingTerms(): Generator<readonly [number, object], void, undefined> {
    for (const [row, terms] of this.#waiting)
      yield [row, Object.fromEntries(termFields.map((field, index) => [field, terms[index]]))];
  }

  #takeTerms(row: number, data: JsonObject): string[] {
    const terms = termFields.map((field) => data[field]);
    const before = this.#waiting.get(row);
    const changed =
      before === undefined
        ? []
        : termFields.filter((_field, index) => before[index] !== terms[index]);
    const { amountMinor, originatorId } = data;
    const isAmount = Number.isSafeInteger(amountMinor) && Number(amountMinor) > 0;
    this.#waiting.set(row, terms);
    this.streams.setMoney(row, isAmount ? Number(amountMinor) : 0, this.#numberOf(originatorId));
    return [
      ...changed.map((field) => `${field} has changed since the first event`),
      ...(isAmount ? [] : ['amountMinor is no positive integer']),
    ];
  }

  /** A return names an amount only where less came back than was sent, and then something did. */
  #partOf(row: number, { returnedAmountMinor }: JsonObject): string[] {
    if (returnedAmountMinor === undefined) return [];
    const amountMinor = Number(returnedAmountMinor);
    const isPart =
      Number.isSafeInteger(returnedAmountMinor) &&
      amountMinor >= 1 &&
      amountMinor < this.streams.amountMinor(row);
    if (!isPart) return ['returnedAmountMinor is no part of the amount'];
    this.#cameBack.set(row, amountMinor);
    return [];
  }

  /** All returns of a payment together are at most what was sent. Without an amount, the first one was of all. */
  #restOf(row: number, { returnedAmountMinor }: JsonObject): string[] {
    const sentMinor = this.streams.amountMinor(row);
    const cameBackMinor = (this.#cameBack.get(row) ?? sentMinor) + Number(returnedAmountMinor);
    const isPart = Number.isSafeInteger(returnedAmountMinor) && Number(returnedAmountMinor) >= 1;
    if (!isPart || cameBackMinor > sentMinor)
      return ['returnedAmountMinor is no part of what had not come back'];
    this.#cameBack.set(row, cameBackMinor);
    return [];
  }

  #numberOf(originatorId: unknown): number {
    const name = String(originatorId);
    const known = this.#originators.get(name);
    if (known !== undefined) return known;
    const number = this.#names.push(name) - 1;
    this.#originators.set(name, number);
    this.#money.push({ completed: 0, returned: 0 });
    return number;
  }

  #moveTo(row: number, to: Status): void {
    this.streams.setStatus(row, statuses.indexOf(to) + 1);
    const money = this.#money[this.streams.originator(row)];
    if (money === undefined) return;
    if (to === 'COMPLETED') money.completed += this.streams.amountMinor(row);
    if (to === 'RETURNED') money.returned += this.streams.amountMinor(row);
  }
}

/** The first event's: whether the payment is the one that its Idempotency-Key creates. */
function identityOf(
  { category, id }: { readonly category: string; readonly id: string },
  { data, metadata }: EventReading,
): string[] {
  const { paymentId, organizationId, idempotencyKey } = data;
  const found = paymentId === id ? [] : ['paymentId is not the ID of the stream'];
  if (category !== 'payment') return found;
  if (typeof idempotencyKey === 'string') {
    if (typeof organizationId !== 'string' || uuidV5(idempotencyKey, organizationId) !== id)
      found.push('the payment ID does not follow from organization and Idempotency-Key');
  } else if (metadata.actor?.startsWith('apiKey:') === true)
    found.push('an API key created the payment without an Idempotency-Key');
  return found;
}

/** RFC 9562, section 5.5. */
function uuidV5(name: string, namespace: string): string {
  const bytes = Buffer.concat([
    Buffer.from(namespace.replaceAll('-', ''), 'hex'),
    Buffer.from(name),
  ]);
  const digest = hash('sha1', bytes, 'buffer');
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex', 0, 16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}
