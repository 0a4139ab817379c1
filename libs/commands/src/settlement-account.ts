/** The operator's settlement account, which collected fees go to. */
import type { RoutingDirectory } from '@pis/bank-rails';
import {
  type SettlementAccountRequest,
  settlementAccountSchema,
  type SettlementAccountView,
  settlementAccountView,
  validate,
} from '@pis/contracts';
import {
  type Environment,
  type Refusal,
  type SettlementAccountRecord,
  settlementAccount as settlementAccounts,
  settlementAccountId,
  settlementPartyId,
} from '@pis/domain';
import {
  type EventStore,
  repository,
  systemContext,
  WrongExpectedRevision,
} from '@pis/event-store';
import { type Keyring, ownerOf, sealBankAccount } from '@pis/keyring';
import type { ProvisioningContext } from './provisioning.js';
import { type InvalidRequest, invalidRequest, now } from './use-case.js';

export type SettlementAccountMissing = Refusal<'SETTLEMENT_ACCOUNT_MISSING'>;

interface Sealing {
  readonly keyring: Keyring;
  readonly banks: RoutingDirectory;
}

/** What the sandbox collects to when nothing else was set. */
const madeUp: SettlementAccountRequest = {
  name: 'SANDBOX OPERATOR',
  companyId: '1000000001',
  bankAccount: {
    subType: 'CHECKING',
    achRoutingNumber: '021000021',
    achAccountNumber: '900080007000',
    swiftCode: null,
  },
};

/**
 * Replaces the account. Collections that exist keep theirs.
 * @param input SettlementAccountRequest
 * @throws StoreUnavailable
 */
export async function setSettlementAccount(
  { store, by }: ProvisioningContext,
  input: unknown,
  sealing: Sealing,
): Promise<SettlementAccountView | InvalidRequest> {
  const validated = validate<SettlementAccountRequest>(settlementAccountSchema, input);
  if (!validated.ok) return invalidRequest(validated.problems);
  const data = await sealed(validated.value, sealing);
  const command = { type: 'SetSettlementAccount', at: now(), data } as const;
  await repository(store, settlementAccounts).execute(settlementAccountId, command, by);
  return settlementAccountView(data);
}

/** @throws StoreUnavailable */
export async function showSettlementAccount(
  store: EventStore,
): Promise<SettlementAccountView | SettlementAccountMissing> {
  const { state } = await repository(store, settlementAccounts).load(settlementAccountId);
  return state === null ? { refused: 'SETTLEMENT_ACCOUNT_MISSING' } : settlementAccountView(state);
}

/**
 * The account to collect to, with its sealed number. The sandbox gets a made-up one, which is recorded, at its first
 * collection. Production has none until an operator sets it, also on a log that was a sandbox's before. @throws StoreUnavailable
 */
export async function settlementAccountToCollect(
  store: EventStore,
  environment: Environment,
  sealing: Sealing,
): Promise<SettlementAccountRecord | SettlementAccountMissing> {
  const accounts = repository(store, settlementAccounts);
  const loaded = await accounts.load(settlementAccountId);
  const { state } = loaded;
  const isUsable = state !== null && (environment === 'sandbox' || !isMadeUp(state));
  if (isUsable) return state;
  if (environment !== 'sandbox') return { refused: 'SETTLEMENT_ACCOUNT_MISSING' };
  const data = await sealed(madeUp, sealing);
  const command = { type: 'SetSettlementAccount', at: now(), data } as const;
  try {
    await accounts.record(settlementAccountId, loaded, [command], systemContext('sandbox'));
  } catch (error) {
    // Another process, or an operator, has set one since.
    if (!(error instanceof WrongExpectedRevision)) throw error;
  }
  return (await accounts.load(settlementAccountId)).state ?? data;
}

function isMadeUp({ name, companyId }: SettlementAccountRecord): boolean {
  return name === madeUp.name && companyId === madeUp.companyId;
}

async function sealed(
  { name, companyId, bankAccount }: SettlementAccountRequest,
  { keyring, banks }: Sealing,
): Promise<SettlementAccountRecord> {
  const bank = await banks.find(bankAccount.achRoutingNumber);
  const owner = ownerOf.originator(settlementPartyId);
  const account = await sealBankAccount(keyring, owner, bankAccount, bank?.bankName ?? null);
  return { name, companyId, bankAccount: account };
}
