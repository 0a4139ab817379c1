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
 *
 * What is said of payments holds for collections of fees from an originator, too.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  approval as approvals,
  contact as contacts,
  contactIdentity as identities,
  payment as payments,
  type Refusal,
  type TransferOwner,
  type WithdrawalCause,
} from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  type Position,
  repository,
  StoreUnavailable,
} from '@pis/event-store';
import { type Owner, ownersOfParty } from '@pis/keyring';
import { organizationRetention } from './organization-retention.js';
import { type ErasableParty, partyStream, type PartyStream } from './party-stream.js';
import { now } from './use-case.js';

/**
 * What is known of a party's payments, and of the collections of fees from it, as far as the lists have come. Every
 * method throws StoreUnavailable.
 */
export interface TransfersOfParties {
  /** Whether the lists of what such a party may have say everything that was recorded up to a position. */
  haveReached(position: Position, kind: ErasableParty['kind']): Promise<boolean>;
  /** Transfers that are not final; null when there are none. */
  open(party: ErasableParty): Promise<OpenTransfers | null>;
  /** When the last transfer became final, ISO 8601; null without transfers. */
  lastFinalAt(party: ErasableParty): Promise<string | null>;
}

export interface OpenTransfers {
  /** What they are: those of one owner are counted at a time. */
  readonly transfer: TransferOwner;
  readonly count: number;
  /** The ID of one of them, also of a collection. */
  readonly paymentId: string;
}

export interface PartyErasureOptions {
  readonly store: EventStore;
  readonly transfers: TransfersOfParties;
  /** Tells every executor how far the erasure has come. Durable before it resolves, and safe to repeat. */
  readonly notify: (party: ErasableParty) => Promise<void>;
  /**
   * The payments whose links gave this ID to a counterparty that is no saved contact; more than those, if in
   * doubt. @throws StoreUnavailable
   */
  readonly counterpartyPayments?: (counterpartyId: string) => Promise<readonly string[]>;
  /** The same of approvals, whose payments may never have been created. @throws StoreUnavailable */
  readonly counterpartyApprovals?: (counterpartyId: string) => Promise<readonly string[]>;
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
  /** How long the lists of transfers may take to catch up, and late transfers to fail. */
  readonly listWaitMaxMs?: number;
  readonly pause?: (ms: number) => Promise<unknown>;
  /** Decides whether a retention period has ended. Defaults to the process's clock. */
  readonly clock?: () => Promise<Date>;
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
  | (Refusal<'PAYMENTS_NOT_FINAL'> & OpenTransfers)
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
  | (Refusal<'LATE_PAYMENT_NOT_FINAL'> & Omit<OpenTransfers, 'count'>)
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
   * The counterparty of a payment link or of an approval that is no saved contact: it was given an ID. It gets a
   * stream for its erasure, unless there is an obstacle.
   */
  private async unsaved(
    stream: PartyStream,
    order: ErasureOrder,
    context: CommandContext,
  ): Promise<ErasableParty | PartyErasureRefusal | null> {
    const { kind, id } = order;
    const known = kind === 'contact' ? await this.counterparty(id) : null;
    if (known === null) return null;
    const { updatedAt, ...data } = known;
    const { organizationId, entityType } = data;
    const place = { phase: null, updatedAt, position: '' };
    const found = { kind, id, organizationId, entityType, identity: null, ...place };
    const early = await this.obstacle(found, order);
    if (early.refused !== undefined) return early;
    const note = { type: 'NoteUnsavedContact', at: now(), data } as const;
    await repository(this.options.store, contacts).execute(id, note, context);
    return stream.load();
  }

  /** What is known of a counterparty that is no saved contact, by its payment or by its approval. */
  private async counterparty(contactId: string) {
    const { store, counterpartyPayments, counterpartyApprovals } = this.options;
    for (const paymentId of (await counterpartyPayments?.(contactId)) ?? []) {
      const { state } = await repository(store, payments).load(paymentId);
      if (state?.contactId !== null || state.link?.counterpartyId !== contactId) continue;
      const { organizationId, originatorId, link, contact, statusAt: updatedAt } = state;
      const entityType = (link.holder ?? contact)?.entityType ?? 'INDIVIDUAL';
      return { contactId, organizationId, originatorId, entityType, updatedAt };
    }
    for (const approvalId of (await counterpartyApprovals?.(contactId)) ?? []) {
      const { state } = await repository(store, approvals).load(approvalId);
      if (state?.contactId !== null || state.recipient.id !== contactId) continue;
      const { organizationId, originatorId, recipient, requestedAt: updatedAt } = state;
      const { entityType } = recipient;
      return { contactId, organizationId, originatorId, entityType, updatedAt };
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
      await this.listsReach(await this.options.store.lastPosition(), party.kind);
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
    const { store, transfers, notify } = this.options;
    const party = await existing(stream, order);
    await notify(party);
    await this.listsReach(await store.lastPosition(), party.kind);
    const deadlineMs = performance.now() + this.listWaitMaxMs;
    for (;;) {
      const open = await transfers.open(party);
      if (open === null) return null;
      const { transfer, paymentId } = open;
      if (performance.now() > deadlineMs)
        return { refused: 'LATE_PAYMENT_NOT_FINAL', transfer, paymentId };
      await this.pause(listPollMs);
    }
  }

  private async obstacle(
    party: ErasableParty,
    { overridesRetention }: ErasureOrder,
  ): Promise<ErasureObstacle | Unhindered> {
    const { transfers } = this.options;
    const open = await transfers.open(party);
    if (open !== null) return { refused: 'PAYMENTS_NOT_FINAL', ...open };
    const retentionYears = await this.retentionYearsOf(party);
    if (overridesRetention || retentionYears === 0) return { retentionYears };
    const last = await transfers.lastFinalAt(party);
    if (last === null) return { retentionYears };
    const until = yearsAfter(last, retentionYears);
    const at = (await this.options.clock?.()) ?? new Date();
    return until > at.toISOString()
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

  private async listsReach(position: Position, kind: ErasableParty['kind']): Promise<void> {
    const deadlineMs = performance.now() + this.listWaitMaxMs;
    while (!(await this.options.transfers.haveReached(position, kind))) {
      if (performance.now() > deadlineMs) {
        const lists =
          kind === 'contact' ? 'list of payments does' : 'lists of payments and of fees do';
        throw new StoreUnavailable(`the ${lists} not catch up with the event store`);
      }
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
    await destroyKeys(ownersOfParty({ kind, id }));
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
