/**
 * Settlement account: the operator's bank account that collected fees go to. One stream, `settlement-account`.
 * A collection keeps the account as it was when the collection was created.
 */
import type { Aggregate, Decision, DomainCommand, DomainEvent } from '../decider.js';
import type { BankAccount } from '../party.js';

/** The ID of the one stream: its name is `settlement-account`. */
export const settlementAccountId = 'account';

/** As NACHA files have room for. */
export const companyNameOfFilesMax = 16;
export const companyIdMax = 10;

export interface SettlementAccountRecord {
  /** The operator, as bank statements of debited originators name it. */
  readonly name: string;
  /** By which the operator's bank knows it in ACH files. */
  readonly companyId: string;
  /** Sealed under the key of the operator's party: `ownerOf.originator(settlementPartyId)`. */
  readonly bankAccount: BankAccount;
}

export type SettlementAccountEvent = DomainEvent<'SettlementAccountSet', SettlementAccountRecord>;
export type SettlementAccountState = (SettlementAccountRecord & { readonly setAt: string }) | null;
export type SettlementAccountCommand = DomainCommand<
  'SetSettlementAccount',
  SettlementAccountRecord
>;

function decide(
  { at, data }: SettlementAccountCommand,
  _state: SettlementAccountState,
): Decision<SettlementAccountEvent, never> {
  return [{ type: 'SettlementAccountSet', at, data }];
}

export const settlementAccount: Aggregate<
  SettlementAccountState,
  SettlementAccountCommand,
  SettlementAccountEvent,
  never
> = {
  category: 'settlement',
  initial: null,
  decide,
  evolve: (_state, { data, at }) => ({ ...data, setAt: at }),
  schemaVersions: { SettlementAccountSet: 1 },
};
