/** Changing originators. Operators create them: see provisioning.ts. */
import { originatorPatchSchema, validatePatch } from '@pis/contracts';
import {
  type Originator,
  originator as originators,
  type OriginatorChanges,
  type Refusal,
} from '@pis/domain';
import {
  againOnConflict,
  type CommandContext,
  type EventStore,
  repository,
} from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { PartyAccounts } from './party-accounts.js';
import {
  type BankUseCaseOptions,
  type InvalidRequest,
  invalidRequest,
  isUsable,
  now,
  type OwnWrites,
  unlessErased,
} from './use-case.js';

export type OriginatorUpdateRefusal = Refusal<'ORIGINATOR_NOT_FOUND'> | InvalidRequest;

export class OriginatorDirectory {
  private readonly store: EventStore;
  private readonly ownWrites: OwnWrites;
  private readonly accounts;
  private readonly originators;

  constructor({ store, keyring, banks, ownWrites, states }: BankUseCaseOptions) {
    this.store = store;
    this.ownWrites = ownWrites;
    this.accounts = new PartyAccounts(keyring, banks);
    this.originators = repository(store, originators, { states });
  }

  /** @throws StoreUnavailable */
  async find(
    organizationId: string,
    originatorId: string,
  ): Promise<Originator | Refusal<'ORIGINATOR_NOT_FOUND'>> {
    const { state, lastEvent } = await this.originators.load(originatorId, organizationId);
    if (!isUsable(state, organizationId)) return { refused: 'ORIGINATOR_NOT_FOUND' };
    this.ownWrites.note('directory', organizationId, lastEvent?.position ?? null);
    return state;
  }

  /**
   * Applies a PATCH; one that changes nothing writes nothing.
   * @param body as it was sent: which names may be cleared depends on the originator
   * @throws StoreUnavailable
   */
  async update(
    organizationId: string,
    originatorId: string,
    body: unknown,
    context: CommandContext,
  ): Promise<Originator | OriginatorUpdateRefusal> {
    const updating = againOnConflict(
      this.store,
      this.originators.streamIdOf(originatorId),
      async () => {
        const loaded = await this.originators.load(originatorId, organizationId);
        const current = isUsable(loaded.state, organizationId) ? loaded.state : null;
        const patch = validatePatch(originatorPatchSchema, body, current?.entityType ?? null);
        if (!patch.ok) return invalidRequest(patch.problems);
        if (current === null) return { refused: 'ORIGINATOR_NOT_FOUND' } as const;

        const owner = ownerOf.originator(originatorId);
        const { bankAccount, ...others } = await this.accounts.changes(current, owner, patch.value);
        // An originator always has an account: the schema lets nobody clear it.
        const changes: OriginatorChanges = { ...others, ...(bankAccount ? { bankAccount } : {}) };
        const command = { type: 'UpdateOriginator', at: now(), data: { changes } } as const;
        // At the revision that was compared with: an account that equals one replaced meanwhile is a change.
        const updated = await this.originators.record(originatorId, loaded, [command], context);
        if ('refused' in updated)
          throw new Error(`a loaded originator was refused: ${updated.refused}`);
        // Noted also when nothing changed: an earlier request may have made the change, and its answer was lost.
        this.ownWrites.note('directory', organizationId, updated.lastEvent?.position ?? null);
        if (updated.state === null) throw new Error('an updated originator is missing');
        return updated.state;
      },
    );
    return unlessErased(updating, () => ({ refused: 'ORIGINATOR_NOT_FOUND' }) as const);
  }
}
