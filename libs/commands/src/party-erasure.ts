/**
 * Erases the personal data of a contact or of an individual originator, for good.
 *
 *   request ─► notice ─► wait ─► check ─► confirm ─► check ─► free the identity ─► destroy the keys
 *                          └─► withdraw                                     record ◄─ wait ◄─┘
 *
 * From the request on, nobody can pay or change the party. The notice tells the executors, which ask for it
 * before they claim a payment: they hold the party's payments while the erasure is requested, and fail them
 * unsent once it is confirmed. So a payment was either appended before the notice, and the check sees it,
 * or it is never sent. The first wait is no part of that. It lets requests that have begun come to their
 * end, so that the check sees their payments and few payments fail.
 *
 * After the second wait no process opens anything with the destroyed keys. So whoever reads the record of
 * the erasure in the log, and anything after it, finds no personal data.
 *
 * What always holds: each step can be repeated. Whatever died between two steps, running the erasure again
 * ends with a party that is erased, or with one that is as it was before. Of two runs at the same time, only
 * the one with the later request can confirm. No key is destroyed while a payment of the party is known
 * that is not final.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  contact as contacts,
  contactIdentity as identities,
  payment as payments,
  type Refusal,
  type WithdrawalCause,
} from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  type Position,
  repository,
  StoreUnavailable,
} from '@pis/event-store';
import { type Owner, ownerOf } from '@pis/keyring';
import { organizationRetention } from './organization-retention.js';
import { type ErasableParty, partyStream, type PartyStream } from './party-stream.js';
import { now } from './use-case.js';

/** What is known of a party's payments, as far as the list of payments has come. Every method throws StoreUnavailable. */
export interface PaymentsOfParties {
  /** Whether the list has everything that was recorded up to a position. */
  hasReached(list: 'payments', position: Position): Promise<boolean>;
  /** Payments that are not final; null when there are none. */
  open(
    party: ErasableParty,
  ): Promise<{ readonly count: number; readonly paymentId: string } | null>;
  /** When the last payment became final, ISO 8601; null without payments. */
  lastFinalAt(party: ErasableParty): Promise<string | null>;
}

export interface PartyErasureOptions {
  readonly store: EventStore;
  readonly payments: PaymentsOfParties;
  /** Tells every executor how far the erasure has come. Durable before it resolves, and safe to repeat. */
  readonly notify: (party: ErasableParty) => Promise<void>;
  /**
   * The payments whose links gave this ID to a counterparty that is no saved contact; more than those, if in
   * doubt. @throws StoreUnavailable
   */
  readonly counterpartyPayments?: (counterpartyId: string) => Promise<readonly string[]>;
  /** For good, and safe to repeat. */
  readonly destroyKeys: (owners: readonly Owner[]) => Promise<void>;
  /**
   * How long personal data is kept after the last payment became final, where the organization has no period of its
   * own; 0 for not at all.
   */
  readonly defaultRetentionYears: number;
  /** How long requests that have begun are waited for. */
  readonly settleMs: number;
  /** How long processes may use keys that were destroyed. */
  readonly keysInUseMs: number;
  /** How long the list of payments may take to catch up, and late payments to fail. */
  readonly listWaitMaxMs?: number;
  readonly pause?: (ms: number) => Promise<unknown>;
}

export interface ErasureOrder {
  readonly kind: 'contact' | 'originator';
  readonly id: string;
  readonly reason: string;
  /** Who asks for it. */
  readonly by: string;
  /** Whether to erase although the retention period still runs. */
  readonly overridesRetention: boolean;
}

export interface ErasedParty {
  readonly id: string;
  /** ISO 8601. */
  readonly erasedAt: string;
  /** Whether it had been erased before. */
  readonly alreadyErased: boolean;
  /** The retention period that held; null when an earlier run had checked it. */
  readonly retentionYears: number | null;
}

/** Why a party cannot be erased yet. */
export type ErasureObstacle =
  | (Refusal<'PAYMENTS_NOT_FINAL'> & { readonly count: number; readonly paymentId: string })
  | (Refusal<'RETENTION_RUNNING'> & { readonly until: string; readonly retentionYears: number });

/** Nothing stands against an erasure. */
interface Unhindered {
  readonly refused?: never;
  /** As of ErasedParty. */
  readonly retentionYears: number | null;
}

export type PartyErasureRefusal =
  | ErasureObstacle
  /** The erasure is confirmed, and waits for a payment that came late. */
  | (Refusal<'LATE_PAYMENT_NOT_FINAL'> & { readonly paymentId: string })
  | (Refusal<'PARTY_NOT_FOUND' | 'PARTY_IS_BUSINESS' | 'ERASURE_INTERRUPTED'> &
      Pick<ErasureOrder, 'kind' | 'id'>);

const listWaitMaxDefaultMs = 60_000;
const listPollMs = 100;

export class PartyErasure {
  private readonly pause;
  private readonly listWaitMaxMs;

  constructor(private readonly options: PartyErasureOptions) {
    this.pause = options.pause ?? ((ms: number) => delay(ms));
    this.listWaitMaxMs = options.listWaitMaxMs ?? listWaitMaxDefaultMs;
  }

  /** Erasing somebody again destroys the keys again, in case a backup has brought them back. @throws StoreUnavailable */
  async erase(
    order: ErasureOrder,
    context: CommandContext,
  ): Promise<ErasedParty | PartyErasureRefusal> {
    const { kind, id } = order;
    const stream = partyStream(this.options.store, order);
    const party = (await stream.load()) ?? (await this.unsaved(stream, order, context));
    if (party === null) return { refused: 'PARTY_NOT_FOUND', kind, id };
    if ('refused' in party) return party;
    if (kind === 'originator' && party.entityType === 'BUSINESS')
      return { refused: 'PARTY_IS_BUSINESS', kind, id };
    let retentionYears: number | null = null;
    if (party.phase !== 'confirmed' && party.phase !== 'erased') {
      const confirmed = await this.confirm(stream, party, order, context);
      if (confirmed.refused !== undefined) return confirmed;
      ({ retentionYears } = confirmed);
    }
    const late = party.phase === 'erased' ? null : await this.latePayment(stream, order);
    if (late !== null) return late;
    await this.complete(stream, order, context);
    const erased = await existing(stream, order);
    return {
      ...{ id, erasedAt: erased.updatedAt, alreadyErased: party.phase === 'erased' },
      retentionYears,
    };
  }

  /**
   * The counterparty of a payment link that is no saved contact: the link has given it an ID. It gets a stream
   * for its erasure, unless there is an obstacle.
   */
  private async unsaved(
    stream: PartyStream,
    order: ErasureOrder,
    context: CommandContext,
  ): Promise<ErasableParty | PartyErasureRefusal | null> {
    const { store, counterpartyPayments } = this.options;
    const { kind, id } = order;
    if (kind !== 'contact' || counterpartyPayments === undefined) return null;
    for (const paymentId of await counterpartyPayments(id)) {
      const { state } = await repository(store, payments).load(paymentId);
      if (state?.contactId !== null || state.link?.counterpartyId !== id) continue;
      const { organizationId, originatorId, link, contact } = state;
      const entityType = (link.holder ?? contact)?.entityType ?? 'INDIVIDUAL';
      const place = { phase: null, updatedAt: state.statusAt, position: '' };
      const found = { kind, id, organizationId, entityType, identity: null, ...place };
      const early = await this.obstacle(found, order);
      if (early.refused !== undefined) return early;
      const data = { contactId: id, organizationId, originatorId, entityType };
      const note = { type: 'NoteUnsavedContact', at: now(), data } as const;
      await repository(store, contacts).execute(id, note, context);
      return stream.load();
    }
    return null;
  }

  /** From the request to the confirmation. @returns why not, where it is refused; the request is withdrawn then */
  private async confirm(
    stream: PartyStream,
    party: ErasableParty,
    order: ErasureOrder,
    context: CommandContext,
  ): Promise<PartyErasureRefusal | Unhindered> {
    const { kind, id, reason, by, overridesRetention } = order;
    // Most refusals are found here, without a trace in the party's stream. A request that somebody has left
    // there is taken over first: only its own run, or one that has replaced it, may withdraw it.
    if (party.phase === null) {
      const early = await this.obstacle(party, order);
      if (early.refused !== undefined) return early;
    }
    const requestId = randomUUID();
    const data = { reason, by, overridesRetention, requestId };
    const refused = await stream.take({ type: 'RequestErasure', at: now(), data }, context);
    if (refused !== null) throw new Error(`${kind} ${id}: ${refused.refused}`);
    const withdraw = (cause: WithdrawalCause) =>
      this.withdraw(stream, order, { cause, requestId }, context);
    const checked = await this.checked(stream, order, withdraw);
    if (checked.refused !== undefined)
      return (await withdraw(checked.refused)) ? checked : { retentionYears: null };
    const confirm = { type: 'ConfirmErasure', at: now(), data: { requestId } } as const;
    const confirmed = await stream.take(confirm, context);
    return confirmed === null ? checked : { refused: 'ERASURE_INTERRUPTED', kind, id };
  }

  private async checked(
    stream: PartyStream,
    order: ErasureOrder,
    withdraw: (cause: WithdrawalCause) => Promise<boolean>,
  ): Promise<ErasureObstacle | Unhindered> {
    try {
      const party = await existing(stream, order);
      await this.options.notify(party);
      await this.pause(this.options.settleMs);
      await this.listReaches(await this.options.store.lastPosition());
      return await this.obstacle(party, order);
    } catch (error) {
      // The party can be used again. If that fails too, the next run decides.
      await withdraw('INTERRUPTED').catch(() => undefined);
      throw error;
    }
  }

  /** The executors are told by the log. @returns false when another run has confirmed the erasure: then it goes on */
  private async withdraw(
    stream: PartyStream,
    { kind, id }: ErasureOrder,
    data: { readonly cause: WithdrawalCause; readonly requestId: string },
    context: CommandContext,
  ): Promise<boolean> {
    const refused = await stream.take({ type: 'WithdrawErasure', at: now(), data }, context);
    if (refused === null || refused.refused === 'ERASURE_REQUEST_REPLACED') return true;
    if (refused.refused === 'ERASURE_CONFIRMED') return false;
    throw new Error(`${kind} ${id}: ${refused.refused}`);
  }

  /**
   * Payments that came after the check: the executors fail them, and they are waited for. One that was sent
   * nevertheless, by an executor of an older release, keeps the keys until it is final.
   */
  private async latePayment(
    stream: PartyStream,
    order: ErasureOrder,
  ): Promise<Extract<PartyErasureRefusal, { refused: 'LATE_PAYMENT_NOT_FINAL' }> | null> {
    const { store, payments, notify } = this.options;
    const party = await existing(stream, order);
    await notify(party);
    await this.listReaches(await store.lastPosition());
    const deadlineMs = performance.now() + this.listWaitMaxMs;
    for (;;) {
      const open = await payments.open(party);
      if (open === null) return null;
      if (performance.now() > deadlineMs)
        return { refused: 'LATE_PAYMENT_NOT_FINAL', paymentId: open.paymentId };
      await this.pause(listPollMs);
    }
  }

  private async obstacle(
    party: ErasableParty,
    { overridesRetention }: ErasureOrder,
  ): Promise<ErasureObstacle | Unhindered> {
    const { payments } = this.options;
    const open = await payments.open(party);
    if (open !== null) return { refused: 'PAYMENTS_NOT_FINAL', ...open };
    const retentionYears = await this.retentionYearsOf(party);
    if (overridesRetention || retentionYears === 0) return { retentionYears };
    const last = await payments.lastFinalAt(party);
    if (last === null) return { retentionYears };
    const until = yearsAfter(last, retentionYears);
    return until > new Date().toISOString()
      ? { refused: 'RETENTION_RUNNING', until, retentionYears }
      : { retentionYears };
  }

  /** That of the party's organization: read from its stream each time, because it may have been set just now. */
  private async retentionYearsOf({ organizationId }: ErasableParty): Promise<number> {
    const { store, defaultRetentionYears } = this.options;
    const retention = await organizationRetention(store, organizationId);
    if ('refused' in retention) throw new Error(`organization ${organizationId} has no stream`);
    return retention.retentionYears ?? defaultRetentionYears;
  }

  private async listReaches(position: Position): Promise<void> {
    const deadlineMs = performance.now() + this.listWaitMaxMs;
    while (!(await this.options.payments.hasReached('payments', position))) {
      if (performance.now() > deadlineMs)
        throw new StoreUnavailable('the list of payments does not catch up with the event store');
      await this.pause(listPollMs);
    }
  }

  /** From the confirmation to the record. */
  private async complete(
    stream: PartyStream,
    { kind, id }: ErasureOrder,
    context: CommandContext,
  ): Promise<void> {
    const { store, destroyKeys, keysInUseMs } = this.options;
    // Read again: until the request it could still change.
    const { identity } = await existing(stream, { kind, id });
    if (identity !== null) {
      const data = { contactId: id };
      const command = {
        type: 'ReleaseContactIdentity',
        at: now(),
        data,
      } as const;
      const released = await repository(store, identities).execute(identity, command, context);
      if ('refused' in released) throw new Error(`contact ${id}: ${released.refused}`);
    }
    await destroyKeys([kind === 'contact' ? ownerOf.contact(id) : ownerOf.originator(id)]);
    await this.pause(keysInUseMs);
    const refused = await stream.take({ type: 'CompleteErasure', at: now(), data: {} }, context);
    if (refused !== null) throw new Error(`${kind} ${id}: ${refused.refused}`);
  }
}

async function existing(
  stream: PartyStream,
  { kind, id }: Pick<ErasureOrder, 'kind' | 'id'>,
): Promise<ErasableParty> {
  const party = await stream.load();
  if (party === null) throw new Error(`${kind} ${id} is not there`);
  return party;
}

function yearsAfter(time: string, years: number): string {
  const date = new Date(time);
  date.setUTCFullYear(date.getUTCFullYear() + years);
  return date.toISOString();
}
