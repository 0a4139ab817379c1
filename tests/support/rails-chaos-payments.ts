/**
 * The payments of a chaos run. Each payment has an amount of its own, by which it can be found in the bank's
 * books.
 */
import { randomUUID } from 'node:crypto';
import type { Direction, PaymentRail } from '@pis/domain';
import { type Random, until } from '@pis/local-servers/testing';
import type { Api } from './api.js';

/** Longer than the recovery of anything that a test kills. */
const acceptLimitMs = 120_000;
const workersMax = 4;

interface Lane {
  readonly rail: PaymentRail;
  readonly direction: Direction;
  readonly routingNumber: string;
  readonly entityType: 'BUSINESS' | 'INDIVIDUAL';
  /** Minor units. The number of the payment is added. */
  readonly amountBase: number;
  readonly isForeign?: boolean;
}

const smallAmount = 100_000;
/** Above what instant rails take. */
const largeAmount = 1_000_000_100;

/** Routing numbers of the sandbox's directory, each with the rail that its bank makes the fastest. */
export const lanes = {
  achDebit: lane('ACH', '011401533', { direction: 'INBOUND', entityType: 'INDIVIDUAL' }),
  achCredit: lane('ACH', '011401533'),
  rtp: lane('RTP', '021000021'),
  fednow: lane('FEDNOW', '121000248', { entityType: 'INDIVIDUAL' }),
  fedwire: lane('FEDWIRE', '021000021', { amountBase: largeAmount }),
  swift: lane('SWIFT', '021000021', { isForeign: true }),
} as const satisfies Record<string, Lane>;
type LaneName = keyof typeof lanes;

function lane(rail: PaymentRail, routingNumber: string, more: Partial<Lane> = {}): Lane {
  const usual = { direction: 'OUTBOUND', entityType: 'BUSINESS', amountBase: smallAmount } as const;
  return { rail, routingNumber, ...usual, ...more };
}

type BookState = 'pending' | 'executed' | 'returned';

export interface Ending {
  /** The state of the bank's one execution; null when there must be none. */
  readonly books: BookState | null;
  readonly statuses: readonly string[];
  /** Of 25 payments. */
  readonly count: number;
}

const ending = (books: BookState | null, statuses: readonly string[], count = 1): Ending => ({
  ...{ books, statuses, count },
});

/** By the last digits of the contact's account, see `scenarios`. */
export const endings = {
  '7777': ending('executed', ['COMPLETED'], 11),
  '0702': ending('executed', ['COMPLETED'], 4),
  '0703': ending('executed', ['COMPLETED'], 2),
  '0101': ending('returned', ['RETURNED']),
  '0204': ending(null, ['FAILED']),
  '0205': ending(null, ['FAILED']),
  '0401': ending('pending', ['FAILED_IN_FLIGHT']),
  '0402': ending('executed', ['COMPLETED']),
  // It has no deadline once the bank has answered. The answer may come too late for that.
  '0502': ending('pending', ['PROCESSING', 'FAILED_IN_FLIGHT']),
  // The review decides these before the bank sees them.
  '0301': ending(null, ['BLOCKED']),
  '0201': ending(null, ['FAILED']),
} as const satisfies Record<string, Ending>;
type EndingDigits = keyof typeof endings;

/** What the bank does. Other transfers are executed and confirmed at once. */
export const scenarios = `
scenarios:
  - { name: confirmed later, match: { accountEndsWith: '0702' }, outcome: accept, delayMs: 700 }
  - { name: told three times, match: { accountEndsWith: '0703' }, outcome: accept, delayMs: 300, duplicate: 3 }
  - { name: returned, match: { accountEndsWith: '0101' }, outcome: return, code: R01, delayMs: 300, returnAfterMs: 900, duplicate: 2 }
  - { name: rejected entry, match: { accountEndsWith: '0204', rail: ACH }, outcome: reject, code: R03 }
  - { name: rejected message, match: { accountEndsWith: '0204' }, outcome: reject, code: AC04 }
  - { name: rejected later, match: { accountEndsWith: '0205' }, outcome: reject, delayMs: 800 }
  - { name: never confirmed, match: { accountEndsWith: '0401' }, outcome: no_confirmation }
  - { name: confirmed late, match: { accountEndsWith: '0402' }, outcome: late_confirmation, lateMs: 20000 }
  - { name: held, match: { accountEndsWith: '0502' }, outcome: hold }
`;

export interface PlannedPayment {
  readonly lane: LaneName;
  readonly ending: EndingDigits;
  /** Minor units; no other payment has it. */
  readonly amount: number;
  readonly idempotencyKey: string;
}

const laneNames = Object.keys(lanes) as LaneName[];
/** Of each ten payments, so that every stretch of a run has all rails. */
const lanesOfTen: readonly LaneName[] = [
  ...(['achDebit', 'achDebit', 'achDebit', 'achCredit', 'achCredit'] as const),
  ...(['rtp', 'rtp', 'fednow', 'fedwire', 'swift'] as const),
];

export function plannedPayments(count: number, random: Random): readonly PlannedPayment[] {
  const laneDeck = deck(lanesOfTen, random);
  const digits = Object.keys(endings) as EndingDigits[];
  const endingDeck = deck(
    digits.flatMap((one) => Array.from({ length: endings[one].count }, () => one)),
    random,
  );
  return Array.from({ length: count }, (_, index) => {
    const name = laneDeck();
    return {
      ...{ lane: name, ending: endingDeck(), idempotencyKey: randomUUID() },
      amount: lanes[name].amountBase + index,
    };
  });
}

/** Deals the cards in random order, and shuffles them again when all are dealt. */
function deck<Card>(cards: readonly Card[], random: Random): () => Card {
  let rest: Card[] = [];
  return () => {
    if (rest.length === 0) rest = shuffled(cards, random);
    const [card] = rest.splice(-1);
    if (card === undefined) throw new Error('a deck without cards');
    return card;
  };
}

export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(random(rest.length), 1));
}

/** One contact for each lane and ending. @returns the body of a payment */
export async function payees(
  api: Api,
): Promise<(payment: PlannedPayment) => Readonly<Record<string, unknown>>> {
  const { originatorId } = await until(
    async () => (await api.data<{ originatorId: string }[]>(200, 'GET', '/v1/originators/'))[0],
    { timeoutMs: acceptLimitMs, what: 'the originator in the list' },
  );
  const contactIds = new Map<string, string>();
  for (const name of laneNames)
    for (const digits of Object.keys(endings)) {
      const body = { originatorId, ...contactOf(name, digits) };
      const { contactId } = await api.data<{ contactId: string }>(
        ...([201, 'POST', '/v1/contacts/', body] as const),
      );
      contactIds.set(`${name} ${digits}`, contactId);
    }
  return ({ lane: name, ending: digits, amount }) => ({
    originatorId,
    contactId: contactIds.get(`${name} ${digits}`),
    paymentAmount: amount,
    direction: lanes[name].direction,
  });
}

function contactOf(name: LaneName, digits: string): Readonly<Record<string, unknown>> {
  const { entityType, routingNumber, isForeign = false }: Lane = lanes[name];
  const person = { firstName: 'Ada', lastName: `Payee ${name}` };
  return {
    entityType,
    ...(entityType === 'BUSINESS' ? { companyName: `Payee ${name}` } : person),
    email: `${name}.${digits}@example.com`,
    bankAccount: {
      subType: 'CHECKING',
      achRoutingNumber: routingNumber,
      achAccountNumber: `55500${digits}`,
      ...(isForeign && { swiftCode: 'DEUTDEFF' }),
    },
    ...(isForeign && {
      legalAddress: {
        addressLine1: 'Taunusanlage 12',
        city: 'Frankfurt',
        state: 'HE',
        postalCode: '60325',
        countryCode: 'DE',
      },
    }),
  };
}

/** Creates the planned payments, as many as were allowed so far. A refusal is tried again under its key. */
export class PaymentStream {
  private allowed = 0;
  private next = 0;
  private wake = Promise.withResolvers<void>();
  private readonly working: Promise<unknown>;
  /** Ids of accepted payments, by amount. */
  readonly accepted = new Map<number, string>();

  constructor(
    private readonly api: Api,
    private readonly planned: readonly PlannedPayment[],
    private readonly bodyOf: (payment: PlannedPayment) => Readonly<Record<string, unknown>>,
  ) {
    this.working = Promise.all(Array.from({ length: workersMax }, () => this.work()));
    // Whoever waits for it hears of a failure.
    this.working.catch(() => undefined);
  }

  allow(count: number): void {
    this.allowed = count;
    this.wake.resolve();
    this.wake = Promise.withResolvers<void>();
  }

  /** Resolves when so many payments have been accepted in all. */
  async reached(count: number): Promise<void> {
    const isReached = until(() => this.accepted.size >= count, {
      ...{ timeoutMs: acceptLimitMs, what: `${count} accepted payments` },
    });
    // Workers end early only by failing.
    await Promise.race([isReached, this.working.then(() => isReached)]);
  }

  private async work(): Promise<void> {
    while (this.next < this.planned.length) {
      if (this.next >= this.allowed) {
        await this.wake.promise;
        continue;
      }
      const payment = this.planned[this.next++];
      if (payment !== undefined) await this.create(payment);
    }
  }

  private async create(payment: PlannedPayment): Promise<void> {
    const { paymentId } = await until(
      async () => {
        const { status, body } = await this.api.createPayment(
          this.bodyOf(payment),
          payment.idempotencyKey,
        );
        if (status === 201) return body.data as { paymentId: string };
        if (status !== 503 && status !== 408) return Promise.reject(new Error(`status ${status}`));
        return null;
      },
      { timeoutMs: acceptLimitMs, everyMs: 50, what: 'a payment accepted' },
    );
    this.accepted.set(payment.amount, paymentId);
  }
}
