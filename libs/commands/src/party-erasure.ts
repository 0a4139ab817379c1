/**
 * Erases the personal data of a contact or of an individual originator, for good.
 *
 *   request ─► wait ─► check ─► confirm ─► free the identity ─► destroy the keys ─► wait ─► record
 *                         └─► withdraw
 *
 * From the request on, nobody can pay or change the party. Requests that began before have come to their
 * end after the first wait, so the check sees their payments. A confirmed erasure is never withdrawn.
 * After the second wait no process opens anything with the destroyed keys. So whoever reads the record of
 * the erasure in the log, and anything after it, finds no personal data.
 *
 * What always holds: each step can be repeated. Whatever died between two steps, running the erasure again
 * ends with a party that is erased, or with one that is as it was before.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { contactIdentity as identities, type Refusal, type WithdrawalCause } from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  type Position,
  repository,
  StoreUnavailable,
} from '@pis/event-store';
import { type Owner, ownerOf } from '@pis/keyring';
import {
  contactStream,
  type ErasableParty,
  originatorStream,
  type PartyStream,
} from './party-stream.js';

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
  /** For good, and safe to repeat. */
  readonly destroyKeys: (owners: readonly Owner[]) => Promise<void>;
  /** How long personal data is kept after the last payment became final; 0 for not at all. */
  readonly retentionYears: number;
  /** How long a request that has begun may take to append. */
  readonly requestMaxMs: number;
  /** How long processes may use keys that were destroyed. */
  readonly keysInUseMs: number;
  /** How long the list of payments may take to catch up. */
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
}

/** Why a party cannot be erased yet. */
export type ErasureObstacle =
  | (Refusal<'PAYMENTS_NOT_FINAL'> & { readonly count: number; readonly paymentId: string })
  | (Refusal<'RETENTION_RUNNING'> & { readonly until: string });

export type PartyErasureRefusal =
  | ErasureObstacle
  | (Refusal<'PARTY_NOT_FOUND' | 'PARTY_IS_BUSINESS' | 'ERASURE_INTERRUPTED'> &
      Pick<ErasureOrder, 'kind' | 'id'>);

const listWaitMaxDefaultMs = 60_000;
const listPollMs = 100;

export class PartyErasure {
  private readonly pause;

  constructor(private readonly options: PartyErasureOptions) {
    this.pause = options.pause ?? ((ms: number) => delay(ms));
  }

  /** Erasing somebody again destroys the keys again, in case a backup has brought them back. @throws StoreUnavailable */
  async erase(
    order: ErasureOrder,
    context: CommandContext,
  ): Promise<ErasedParty | PartyErasureRefusal> {
    const { kind, id } = order;
    const { store } = this.options;
    const stream = kind === 'contact' ? contactStream(store, id) : originatorStream(store, id);
    const party = await stream.load();
    if (party === null) return { refused: 'PARTY_NOT_FOUND', kind, id };
    if (kind === 'originator' && party.entityType === 'BUSINESS')
      return { refused: 'PARTY_IS_BUSINESS', kind, id };
    if (party.phase !== 'confirmed' && party.phase !== 'erased') {
      const refusal = await this.confirm(stream, party, order, context);
      if (refusal !== null) return refusal;
    }
    await this.complete(stream, order, context);
    const erased = await stream.load();
    if (erased === null) throw new Error(`the erased ${kind} ${id} is not there`);
    return { id, erasedAt: erased.updatedAt, alreadyErased: party.phase === 'erased' };
  }

  /** From the request to the confirmation. @returns why not; the request is withdrawn then */
  private async confirm(
    stream: PartyStream,
    party: ErasableParty,
    order: ErasureOrder,
    context: CommandContext,
  ): Promise<PartyErasureRefusal | null> {
    const { kind, id, reason, by, overridesRetention } = order;
    // Most refusals are found here, without a trace in the party's stream.
    const early = await this.obstacle(party, order);
    if (early !== null) return this.withdraw(stream, early, order, context);
    const data = { reason, by, overridesRetention };
    const refused = await stream.take({ step: 'request', data }, context);
    if (refused !== null) throw new Error(`${kind} ${id}: ${refused.refused}`);
    const obstacle = await this.checked(stream, party, order, context);
    if (obstacle !== null) return this.withdraw(stream, obstacle, order, context);
    const confirmed = await stream.take({ step: 'confirm' }, context);
    return confirmed === null ? null : { refused: 'ERASURE_INTERRUPTED', kind, id };
  }

  private async checked(
    stream: PartyStream,
    party: ErasableParty,
    order: ErasureOrder,
    context: CommandContext,
  ): Promise<ErasureObstacle | null> {
    try {
      await this.pause(this.options.requestMaxMs);
      await this.listReaches(await this.options.store.lastPosition());
      return await this.obstacle(party, order);
    } catch (error) {
      // The party can be used again. If that fails too, the next run decides.
      await stream
        .take({ step: 'withdraw', data: { cause: 'INTERRUPTED' } }, context)
        .catch(() => undefined);
      throw error;
    }
  }

  /** @returns null when another run has confirmed the erasure: then it goes on */
  private async withdraw(
    stream: PartyStream,
    obstacle: ErasureObstacle,
    { kind, id }: ErasureOrder,
    context: CommandContext,
  ): Promise<ErasureObstacle | null> {
    const cause: WithdrawalCause = obstacle.refused;
    const refused = await stream.take({ step: 'withdraw', data: { cause } }, context);
    if (refused === null) return obstacle;
    if (refused.refused === 'ERASURE_CONFIRMED') return null;
    throw new Error(`${kind} ${id}: ${refused.refused}`);
  }

  private async obstacle(
    party: ErasableParty,
    { overridesRetention }: ErasureOrder,
  ): Promise<ErasureObstacle | null> {
    const { payments, retentionYears } = this.options;
    const open = await payments.open(party);
    if (open !== null) return { refused: 'PAYMENTS_NOT_FINAL', ...open };
    if (overridesRetention || retentionYears === 0) return null;
    const last = await payments.lastFinalAt(party);
    if (last === null) return null;
    const until = yearsAfter(last, retentionYears);
    return until > new Date().toISOString() ? { refused: 'RETENTION_RUNNING', until } : null;
  }

  private async listReaches(position: Position): Promise<void> {
    const { payments, listWaitMaxMs = listWaitMaxDefaultMs } = this.options;
    const deadlineMs = performance.now() + listWaitMaxMs;
    while (!(await payments.hasReached('payments', position))) {
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
    const identity = (await stream.load())?.identity ?? null;
    if (identity !== null) {
      const data = { contactId: id };
      const command = {
        type: 'ReleaseContactIdentity',
        at: new Date().toISOString(),
        data,
      } as const;
      const released = await repository(store, identities).execute(identity, command, context);
      if ('refused' in released) throw new Error(`contact ${id}: ${released.refused}`);
    }
    await destroyKeys([kind === 'contact' ? ownerOf.contact(id) : ownerOf.originator(id)]);
    await this.pause(keysInUseMs);
    const refused = await stream.take({ step: 'erase' }, context);
    if (refused !== null) throw new Error(`${kind} ${id}: ${refused.refused}`);
  }
}

function yearsAfter(time: string, years: number): string {
  const date = new Date(time);
  date.setUTCFullYear(date.getUTCFullYear() + years);
  return date.toISOString();
}
