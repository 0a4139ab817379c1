/** What a new collection debits, and where the money goes. */
import { settlementAccountToCollect, type SettlementAccountMissing } from '@pis/commands';
import {
  type BankAccount,
  collection as collections,
  collectionDetails,
  type FeePeriod,
  type FeePeriodCommand,
  feesDueMinor,
  type GiveUpCause,
  monthName,
  type Originator,
  originator as originators,
  type PaymentCommand,
  type PaymentParty,
  reinitiatedBy,
} from '@pis/domain';
import { repository } from '@pis/event-store';
import { type Keyring, openBankAccount, type Owner, ownerOf } from '@pis/keyring';
import type { CollectionOptions } from './collection-options.js';

type QueueCollection = Extract<PaymentCommand, { type: 'QueuePayment' }>;
type GiveUp = Extract<FeePeriodCommand, { type: 'GiveUpFeePeriod' }>;

/**
 * The first command of a collection; null while an erasure of the originator is being checked. The account of the
 * originator is that of this moment. @throws StoreUnavailable
 */
export async function queueCommand(
  { store, environment, keyring, banks }: CollectionOptions,
  period: FeePeriod,
  { collectionId, at }: { readonly collectionId: string; readonly at: string },
): Promise<QueueCollection | GiveUp | SettlementAccountMissing | null> {
  const settlement = await settlementAccountToCollect(store, environment, { keyring, banks });
  if ('refused' in settlement) return settlement;
  const originator = await originatorOf({ store }, period);
  if (originator.erasure === 'requested') return null;
  if (originator.erasure !== null) return giveUp(at, 'ORIGINATOR_ERASED');
  const data = collectionDetails({
    collectionId,
    organizationId: period.organizationId,
    amountMinor: feesDueMinor(period),
    note: `Fees ${monthName(period)}`,
    reinitiates: await presentedBefore({ store, keyring }, period, {
      collectionId,
      account: originator.bankAccount,
    }),
    settlement,
    originator: debited(originator),
  });
  return { type: 'QueuePayment', at, data };
}

export function giveUp(at: string, cause: GiveUpCause): GiveUp {
  return { type: 'GiveUpFeePeriod', at, data: { cause } };
}

/** @throws StoreUnavailable */
export async function originatorOf(
  { store }: Pick<CollectionOptions, 'store'>,
  { originatorId, organizationId }: FeePeriod,
): Promise<Originator> {
  const { state } = await repository(store, originators).load(originatorId, organizationId);
  if (state === null) throw new Error(`there is no originator ${originatorId}`);
  return state;
}

/** The entry is another one if the originator has another account by now. */
async function presentedBefore(
  { store, keyring }: Pick<CollectionOptions, 'store' | 'keyring'>,
  period: FeePeriod,
  {
    collectionId,
    account,
  }: { readonly collectionId: string; readonly account: BankAccount | null },
): Promise<string | null> {
  const before = reinitiatedBy(period, collectionId);
  if (before === null) return null;
  const { state } = await repository(store, collections).load(before);
  const debited = state?.contact?.bankAccount ?? null;
  const owner = ownerOf.originator(period.originatorId);
  return (await isSameAccount(keyring, owner, debited, account)) ? before : null;
}

/** By the numbers themselves: two accounts may end with the same digits. */
async function isSameAccount(
  keyring: Keyring,
  owner: Owner,
  one: BankAccount | null,
  other: BankAccount | null,
): Promise<boolean> {
  if (one === null || other === null || one.subType !== other.subType) return false;
  const [first, second] = [
    await openBankAccount(keyring, one, owner),
    await openBankAccount(keyring, other, owner),
  ];
  return (
    first.achRoutingNumber === second.achRoutingNumber &&
    first.achAccountNumber === second.achAccountNumber
  );
}

function debited(originator: Originator): PaymentParty {
  const { originatorId, entityType, firstName, lastName, companyName } = originator;
  const { legalAddress, bankAccount } = originator;
  return {
    ...{ id: originatorId, entityType, firstName, lastName, companyName },
    ...{ legalAddress, bankAccount },
  };
}
