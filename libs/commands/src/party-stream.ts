/** The stream of a contact or originator, as far as its erasure goes: both take the same steps. */
import {
  type Contact,
  contact as contacts,
  type EntityType,
  type ErasureCommand,
  type ErasurePhase,
  type ErasureRefusal,
  type Originator,
  originator as originators,
  type Refusal,
} from '@pis/domain';
import { type CommandContext, type EventStore, type Position, repository } from '@pis/event-store';

export interface ErasableParty {
  readonly kind: 'contact' | 'originator';
  readonly id: string;
  readonly organizationId: string;
  readonly entityType: EntityType;
  /** Of a contact; null for an originator. */
  readonly identity: string | null;
  readonly phase: ErasurePhase | null;
  /** ISO 8601, of the last change: of the erasure, once it is complete. */
  readonly updatedAt: string;
  /** Of the last event. */
  readonly position: Position;
}

/** Every method throws StoreUnavailable. */
export interface PartyStream {
  load(): Promise<ErasableParty | null>;
  /** A step that was taken before records nothing. */
  take(command: ErasureCommand, context: CommandContext): Promise<Refusal<StepRefusal> | null>;
}

export type StepRefusal =
  | ErasureRefusal
  | 'CONTACT_NOT_FOUND'
  | 'ORIGINATOR_NOT_FOUND'
  | 'ORIGINATOR_IS_BUSINESS';

export function partyStream(
  store: EventStore,
  { kind, id }: Pick<ErasableParty, 'kind' | 'id'>,
): PartyStream {
  const repo = kind === 'contact' ? repository(store, contacts) : repository(store, originators);
  return {
    async load() {
      const { state, lastEvent } = await repo.load(id);
      if (state === null || lastEvent === null) return null;
      const { organizationId, entityType, erasure: phase, updatedAt } = state;
      const isSaved = isContact(state) && state.unsaved !== true;
      const identity = isSaved ? state.identity : null;
      const { position } = lastEvent;
      return { kind, id, organizationId, entityType, identity, phase, updatedAt, position };
    },
    async take(command, context) {
      return refusalOf(await repo.execute(id, command, context));
    },
  };
}

function isContact(state: Contact | Originator): state is Contact {
  return 'contactId' in state;
}

/** Null for a party that is not being erased. @throws StoreUnavailable, UnreadableEvent */
export async function erasurePhaseOf(
  store: EventStore,
  party: Pick<ErasableParty, 'kind' | 'id'>,
): Promise<ErasurePhase | null> {
  return (await partyStream(store, party).load())?.phase ?? null;
}

/** The aggregates refuse steps of an erasure with these codes only. */
function refusalOf(result: object): Refusal<StepRefusal> | null {
  return 'refused' in result ? (result as Refusal<StepRefusal>) : null;
}
