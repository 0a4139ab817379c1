/**
 * The ISO 20022 messages that we exchange with banks, as plain values: what the XML says, without the XML.
 * One message is about one payment. `write-messages.ts` and `read-messages.ts` turn them into XML and back.
 *
 *   us → bank   pacs.008 credit transfer · pacs.028 status request · camt.056 cancellation request
 *   bank → us   pacs.002 status report · pacs.004 return · camt.029 answer to a cancellation request
 *
 * Date-times and dates are kept as they stand in the message. Amounts are minor units of a currency with
 * two decimals.
 */
import type { PaymentRail } from '@pis/domain';

export const isoRails = ['FEDNOW', 'RTP', 'FEDWIRE', 'SWIFT'] as const satisfies PaymentRail[];
/** The rails that carry ISO 20022 messages. */
export type IsoRail = (typeof isoRails)[number];

/** A bank: its ABA routing number on the US rails, its BIC on SWIFT. */
export interface IsoAgent {
  readonly routingNumber: string | null;
  readonly bic: string | null;
}

/** A structured postal address. `lines` holds what has no element of its own: two lines at most. */
export interface IsoAddress {
  readonly street: string | null;
  readonly postalCode: string | null;
  readonly town: string;
  readonly state: string | null;
  /** ISO 3166-1, two letters. */
  readonly country: string;
  readonly lines: readonly string[];
}

export interface IsoParty {
  readonly name: string;
  readonly address: IsoAddress | null;
}

export interface IsoAmount {
  readonly amountMinor: number;
  readonly currencyCode: string;
}

/** A code of an ISO external code list, or a code that the bank or the rail made up. */
export interface IsoReason {
  readonly code: string | null;
  readonly proprietary: string | null;
  readonly text: string | null;
}

interface IsoMessageBase {
  /** GrpHdr/MsgId, or Assgnmt/Id of the camt messages. Unique for the sender, at most 35 characters. */
  readonly messageId: string;
  readonly createdAt: string;
}

/** pacs.008: pay the creditor. */
export interface CreditTransfer extends IsoMessageBase {
  readonly type: 'pacs.008';
  readonly instructionId: string;
  /** Our reference, see railReferenceOf. */
  readonly endToEndId: string;
  readonly transactionId: string | null;
  /** Unique End-to-end Transaction Reference: a UUID of version 4. */
  readonly uetr: string;
  readonly amountMinor: number;
  readonly currencyCode: string;
  /** YYYY-MM-DD. */
  readonly settlementDate: string;
  /** Whether the debtor is a business; null on rails that do not ask. */
  readonly isBusiness: boolean | null;
  readonly instructingAgent: IsoAgent;
  readonly instructedAgent: IsoAgent;
  readonly debtor: IsoParty;
  readonly debtorAccount: string;
  readonly debtorAgent: IsoAgent;
  readonly creditorAgent: IsoAgent;
  readonly creditor: IsoParty;
  readonly creditorAccount: string;
  /** Unstructured remittance information, at most 140 characters. */
  readonly note: string | null;
}

/** Which transfer a message is about. A rail leaves some of them out; those present must all agree. */
export interface OriginalTransfer {
  readonly messageId: string | null;
  /** For example `pacs.008.001.08`: the message that is answered. */
  readonly messageName: string | null;
  readonly createdAt: string | null;
  readonly instructionId: string | null;
  readonly endToEndId: string | null;
  readonly transactionId: string | null;
  readonly uetr: string | null;
}

/** pacs.002: what became of a transfer. */
export interface StatusReport extends IsoMessageBase {
  readonly type: 'pacs.002';
  readonly original: OriginalTransfer;
  /** A code of ExternalPaymentTransactionStatus1Code: see `meaningOfStatus`. */
  readonly status: string;
  readonly reason: IsoReason | null;
  readonly acceptedAt: string | null;
  readonly instructingAgent: IsoAgent;
  readonly instructedAgent: IsoAgent;
}

/** pacs.004: the money comes back after the transfer was accepted. */
export interface PaymentReturn extends IsoMessageBase {
  readonly type: 'pacs.004';
  readonly returnId: string;
  readonly original: OriginalTransfer;
  readonly originalAmountMinor: number | null;
  readonly originalSettlementDate: string | null;
  readonly returnedAmountMinor: number;
  readonly currencyCode: string;
  readonly settlementDate: string;
  readonly reason: IsoReason | null;
  readonly instructingAgent: IsoAgent;
  readonly instructedAgent: IsoAgent;
  /** The parties as they are in the return: the creditor of the transfer pays it back. */
  readonly debtor: IsoParty | null;
  readonly creditor: IsoParty | null;
}

/** camt.056: do not execute it, whether you have it or not. */
export interface CancellationRequest extends IsoMessageBase {
  readonly type: 'camt.056';
  readonly caseId: string;
  readonly original: OriginalTransfer;
  readonly originalAmountMinor: number;
  readonly currencyCode: string;
  readonly originalSettlementDate: string;
  readonly reason: IsoReason;
  readonly assigner: IsoAgent;
  readonly assignee: IsoAgent;
}

/** camt.029: the answer to a cancellation request. */
export interface CancellationAnswer extends IsoMessageBase {
  readonly type: 'camt.029';
  /** Of the request. */
  readonly caseId: string | null;
  readonly original: OriginalTransfer;
  /** CNCL: never executed. RJCR: too late. PDCR: the bank answers later. */
  readonly status: string;
  readonly reason: IsoReason | null;
  readonly assigner: IsoAgent;
  readonly assignee: IsoAgent;
}

/** pacs.028: what became of it? */
export interface StatusRequest extends IsoMessageBase {
  readonly type: 'pacs.028';
  readonly original: OriginalTransfer;
  /** Amount and date stand in the message on RTP only. */
  readonly originalAmount: IsoAmount | null;
  readonly originalSettlementDate: string | null;
  readonly instructingAgent: IsoAgent;
  readonly instructedAgent: IsoAgent;
}

export type IsoMessage =
  | CreditTransfer
  | StatusReport
  | PaymentReturn
  | CancellationRequest
  | CancellationAnswer
  | StatusRequest;

export type IsoMessageType = IsoMessage['type'];
