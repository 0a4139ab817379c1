/** The stream of a contact or originator, as far as its erasure goes: both take the same steps. */
import {
  contact as contacts,
  type ContactCommand,
  type EntityType,
  type ErasurePhase,
  type ErasureRefusal,
  type ErasureRequest,
  originator as originators,
  type OriginatorCommand,
  type Refusal,
  type WithdrawalCause,
} from '@pis/domain';
import { type CommandContext, type EventStore, repository } from '@pis/event-store';
import { now } from './use-case.js';

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
}

export type ErasureStepCommand =
  | { readonly step: 'request'; readonly data: ErasureRequest }
  | { readonly step: 'withdraw'; readonly data: { readonly cause: WithdrawalCause } }
  | { readonly step: 'confirm' }
  | { readonly step: 'erase' };

/** Every method throws StoreUnavailable. */
export interface PartyStream {
  load(): Promise<ErasableParty | null>;
  /** A step that was taken before records nothing. */
  take(command: ErasureStepCommand, context: CommandContext): Promise<Refusal<StepRefusal> | null>;
}

export type StepRefusal =
  | ErasureRefusal
  | 'CONTACT_NOT_FOUND'
  | 'ORIGINATOR_NOT_FOUND'
  | 'ORIGINATOR_IS_BUSINESS';

export function contactStream(store: EventStore, id: string): PartyStream {
  const repo = repository(store, contacts);
  return {
    async load() {
      const { state } = await repo.load(id);
      if (state === null) return null;
      const { organizationId, entityType, identity, erasure: phase, updatedAt } = state;
      return { kind: 'contact', id, organizationId, entityType, identity, phase, updatedAt };
    },
    async take(command, context) {
      return refusalOf(await repo.execute(id, contactCommand(command), context));
    },
  };
}

export function originatorStream(store: EventStore, id: string): PartyStream {
  const repo = repository(store, originators);
  return {
    async load() {
      const { state } = await repo.load(id);
      if (state === null) return null;
      const { organizationId, entityType, erasure: phase, updatedAt } = state;
      const identity = null;
      return { kind: 'originator', id, organizationId, entityType, identity, phase, updatedAt };
    },
    async take(command, context) {
      return refusalOf(await repo.execute(id, originatorCommand(command), context));
    },
  };
}

function contactCommand(command: ErasureStepCommand): ContactCommand {
  const at = now();
  switch (command.step) {
    case 'request':
      return { type: 'RequestContactErasure', at, data: command.data };
    case 'withdraw':
      return { type: 'WithdrawContactErasure', at, data: command.data };
    case 'confirm':
      return { type: 'ConfirmContactErasure', at, data: {} };
    case 'erase':
      return { type: 'EraseContact', at, data: {} };
  }
}

function originatorCommand(command: ErasureStepCommand): OriginatorCommand {
  const at = now();
  switch (command.step) {
    case 'request':
      return { type: 'RequestOriginatorErasure', at, data: command.data };
    case 'withdraw':
      return { type: 'WithdrawOriginatorErasure', at, data: command.data };
    case 'confirm':
      return { type: 'ConfirmOriginatorErasure', at, data: {} };
    case 'erase':
      return { type: 'EraseOriginator', at, data: {} };
  }
}

/** The aggregates refuse steps of an erasure with these codes only. */
function refusalOf(result: object): Refusal<StepRefusal> | null {
  return 'refused' in result ? (result as Refusal<StepRefusal>) : null;
}
