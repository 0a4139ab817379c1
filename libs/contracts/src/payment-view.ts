/**
 * How a payment is shown: the single read, the list item and the webhook payload, with the rules
 * of masking and nullness (rules masking-1 to masking-8). Numbers arrive masked from
 * the stream; sealed values are left out here, in one place.
 */
import type { BankAccount, Payment, PaymentParty } from '@pis/domain';

export interface BankAccountView {
  readonly bankName: string | null;
  readonly swiftCode: string | null;
  readonly subType: string;
  readonly achRoutingNumber: string;
  readonly achAccountNumber: string;
}

export interface PartyView {
  readonly id: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly companyName: string | null;
  readonly entityType: string;
  /** Only on a party whose personal data was erased: its other fields but `id` and `entityType` are null. */
  readonly erased?: true | undefined;
}

export interface PartyWithAccountView extends PartyView {
  readonly bankAccount: BankAccountView | null;
}

interface PaymentFields {
  readonly paymentId: string;
  readonly status: string;
  readonly createdAt: string;
  readonly completedAt: string | null;
  readonly failedAt: string | null;
  readonly returnedAt: string | null;
  readonly canceledAt: string | null;
  readonly paymentAmount: number;
  readonly discountFee: number;
  readonly flatFee: number;
  readonly returnFee: number;
  readonly currencyCode: string;
  readonly paymentRail: string;
  readonly direction: string;
  readonly paymentNote: string | null;
  readonly externalPaymentId: string | null;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
}

/** Lists omit failureReason, returnReasonCode and the parties' bank accounts (rule list-item-1). */
export interface PaymentListItem extends PaymentFields {
  readonly originator: PartyView;
  readonly contact: PartyView | null;
}

export interface PaymentView extends PaymentFields {
  readonly failureReason: string | null;
  readonly returnReasonCode: string | null;
  readonly originator: PartyWithAccountView;
  readonly contact: PartyWithAccountView | null;
}

export function bankAccountView(account: BankAccount): BankAccountView {
  return {
    bankName: account.bankName,
    swiftCode: account.swiftCode,
    subType: account.subType,
    achRoutingNumber: account.achRoutingNumber,
    achAccountNumber: account.achAccountNumber,
  };
}

function partyView(party: PaymentParty): PartyView {
  return {
    id: party.id,
    firstName: party.firstName,
    lastName: party.lastName,
    companyName: party.companyName,
    entityType: party.entityType,
    ...(party.erased === true ? { erased: true } : {}),
  };
}

export function partyWithAccountView(party: PaymentParty): PartyWithAccountView {
  if (party.erased === true) return erasedPartyView({ ...partyView(party), bankAccount: null });
  return {
    ...partyView(party),
    bankAccount: party.bankAccount === null ? null : bankAccountView(party.bankAccount),
  };
}

/**
 * The view of a party after its erasure, with the fields that it had, in their order. It is the same text as
 * a view made anew: bodies that were stored are rewritten by this.
 */
export function erasedPartyView<View extends PartyView>(view: View): View {
  const { erased: _, ...fields } = view;
  const kept = (field: string) => field === 'id' || field === 'entityType';
  const entries = Object.entries(fields).map(([field, value]) => [
    field,
    kept(field) ? value : null,
  ]);
  return { ...Object.fromEntries(entries), erased: true } as View;
}

/** A payment as it was shown, as JSON brings it back; null in the place of what has no parties. */
interface ShownPayment {
  readonly originator?: PartyView | null;
  readonly contact?: PartyView | null;
}

/** The same payment with the parties of these ids erased; the same object when it has none of them. */
export function withErased<Shown extends ShownPayment>(
  shown: Shown,
  isErased: (partyId: string) => boolean,
): Shown {
  const changed = (['originator', 'contact'] as const).flatMap((side) => {
    const party = shown[side];
    if (!party || party.erased === true || !isErased(party.id)) return [];
    return [[side, erasedPartyView(party)] as const];
  });
  return changed.length === 0 ? shown : { ...shown, ...Object.fromEntries(changed) };
}

function fields(payment: Payment): PaymentFields {
  return {
    paymentId: payment.paymentId,
    status: payment.status,
    createdAt: payment.createdAt,
    completedAt: payment.completedAt,
    failedAt: payment.failedAt,
    returnedAt: payment.returnedAt,
    canceledAt: payment.canceledAt,
    paymentAmount: payment.amountMinor,
    discountFee: payment.discountFeeMinor,
    flatFee: payment.flatFeeMinor,
    returnFee: payment.returnFeeMinor,
    currencyCode: payment.currencyCode,
    paymentRail: payment.paymentRail,
    direction: payment.direction,
    paymentNote: payment.paymentNote,
    externalPaymentId: payment.externalPaymentId,
    failureCode: payment.failureCode,
    failureMessage: payment.failureMessage,
  };
}

/** Rule 3: before QUEUED an unsaved counterparty is not shown at all, a saved one without its account. */
function shownContact(payment: Payment): PaymentParty | null {
  const beforeQueued = payment.status === 'AWAITING_CONFIRMATION' || payment.status === 'CANCELED';
  if (!beforeQueued || payment.contact === null) return payment.contact;
  return payment.contactId === null ? null : { ...payment.contact, bankAccount: null };
}

export function paymentView(payment: Payment): PaymentView {
  const contact = shownContact(payment);
  return {
    ...fields(payment),
    failureReason: payment.failureReason,
    returnReasonCode: payment.returnReasonCode,
    originator: partyWithAccountView(payment.originator),
    contact: contact === null ? null : partyWithAccountView(contact),
  };
}

export function paymentListItem(payment: Payment): PaymentListItem {
  const contact = shownContact(payment);
  return {
    ...fields(payment),
    originator: partyView(payment.originator),
    contact: contact === null ? null : partyView(contact),
  };
}
