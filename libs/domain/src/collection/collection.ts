/**
 * Collection: one ACH debit of an originator that pays its fees to the operator.
 *
 * It is moved like a payment, by the same executor, so its stream has the events and the states of a payment
 * (payment.ts) under a category of its own. Everything public follows the streams of payments only. So a
 * collection makes no webhook, no integration event and no row in any list of payments.
 *
 * The sides: the operator is the party that debits, in the place of a payment's originator. The originator is the
 * debited party, in the place of a payment's contact. `originatorId` is the debited originator, and `paymentId` is
 * the collection's ID.
 */
import { type Decision, unreachable } from '../decider.js';
import type { BankAccount, PaymentParty } from '../party.js';
import {
  payment,
  type PaymentCommand,
  type PaymentEvent,
  type PaymentRefusal,
  type PaymentState,
} from '../payment/payment.js';
import type { PaymentDetails } from '../payment/payment-details.js';

/**
 * The ID of the operator as a party of transfers. Its account is sealed under the key of an originator with this ID
 * (keyring: `ownerOf.originator(settlementPartyId)`). No originator has it, because their IDs are random.
 */
export const settlementPartyId = '5e771e00-0000-8000-8000-000000000001';

/**
 * The rule that blocks a collection that a restored log does not know: a connection has a record of an earlier one under
 * its reference, so the bank may have debited it.
 */
export const collectionSentBefore = 'COLLECTION_SENT_BEFORE';

export interface CollectionTerms {
  /** A UUID. Appended at "no stream", a second collection of the same ID changes nothing. */
  readonly collectionId: string;
  readonly organizationId: string;
  /** Minor units, at least 1. */
  readonly amountMinor: number;
  /** For the originator's bank statement, for example "Fees 2026-10". */
  readonly note: string;
  /** The collection that was returned before this one, whose entry is presented again. Absent for the first one. */
  readonly reinitiates?: string | null;
  /** Where the money goes. */
  readonly settlement: { readonly name: string; readonly bankAccount: BankAccount };
  /** Who is debited, with its account as it is now: sealed under the originator's own key. */
  readonly originator: PaymentParty;
}

/** The data of a collection's first event: give it to `QueuePayment`. */
export function collectionDetails(terms: CollectionTerms): PaymentDetails {
  const { collectionId, organizationId, amountMinor, note, settlement, originator } = terms;
  const { reinitiates = null } = terms;
  return {
    paymentId: collectionId,
    organizationId,
    originatorId: originator.id,
    contactId: null,
    amountMinor,
    discountFeeMinor: 0,
    flatFeeMinor: 0,
    returnFeeMinor: 0,
    currencyCode: 'USD',
    paymentRail: 'ACH',
    direction: 'INBOUND',
    paymentNote: note,
    externalPaymentId: null,
    idempotencyKey: null,
    ...(reinitiates === null ? {} : { reinitiates }),
    originator: {
      id: settlementPartyId,
      entityType: 'BUSINESS',
      firstName: null,
      lastName: null,
      companyName: settlement.name,
      bankAccount: settlement.bankAccount,
    },
    contact: originator,
  };
}

/** @throws Error for a transfer that is no collection */
function decide(
  command: PaymentCommand,
  state: PaymentState,
): Decision<PaymentEvent, PaymentRefusal> {
  switch (command.type) {
    case 'AwaitConfirmation':
    case 'SubmitCounterparty':
    case 'CancelPayment':
      return { refused: 'NOT_ALLOWED_IN_STATUS' };
    case 'QueuePayment':
      if (!isCollection(command.data)) throw new Error('the transfer is no collection');
      return payment.decide(command, state);
    case 'BlockPayment':
    case 'ProcessPayment':
    case 'CompletePayment':
    case 'FailPayment':
    case 'FailPaymentInFlight':
    case 'ReturnPayment':
    case 'CorrectPayment':
    case 'RejectPaymentLate':
    case 'ReturnPaymentAgain':
      return payment.decide(command, state);
    default:
      return unreachable(command);
  }
}

function isCollection(details: PaymentDetails): boolean {
  const { discountFeeMinor, flatFeeMinor, returnFeeMinor } = details;
  const isFree = discountFeeMinor === 0 && flatFeeMinor === 0 && returnFeeMinor === 0;
  const isDebit = details.direction === 'INBOUND' && details.paymentRail === 'ACH';
  const isToOperator = details.originator.id === settlementPartyId;
  const isFromOriginator = details.contact?.id === details.originatorId;
  return isFree && isDebit && isToOperator && isFromOriginator && details.contactId === null;
}

export const collection: typeof payment = { ...payment, category: 'collection', decide };

/** Whose transfer it is: both are moved by the same executor. */
export const transferOwners = ['payment', 'collection'] as const;
export type TransferOwner = (typeof transferOwners)[number];

/**
 * In whose name the bank gets the transfer. A collection is the operator's own, so a batch of ACH entries never has
 * both a client's payments and collections from that client.
 */
export function orderingOrganizationOf(
  owner: TransferOwner,
  { organizationId }: Pick<PaymentDetails, 'organizationId'>,
): string {
  return owner === 'collection' ? settlementPartyId : organizationId;
}
