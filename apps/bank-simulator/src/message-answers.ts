/** The ISO 20022 messages with which the simulated bank answers and reports. */
import {
  type CancellationAnswer,
  type CreditTransfer,
  derivedText,
  type IsoAgent,
  type IsoMessage,
  type IsoRail,
  isoRails,
  type IsoReason,
  type IsoSender,
  type OriginalTransfer,
  type PaymentReturn,
  profileOf,
  type StatusReport,
} from '@pis/bank-rails/iso20022';
import type { Details, Posted } from './ledger.js';
import type { PublishedReport } from './reports.js';

/** The transfer that a message of the bank is about, as far as the bank has kept it. */
export interface Answered {
  readonly rail: IsoRail;
  /** For the header. */
  readonly customer: IsoSender;
  readonly customerAgent: IsoAgent;
  /** The receiving bank, for which the simulator answers. */
  readonly bank: IsoAgent;
  readonly original: OriginalTransfer;
  readonly amountMinor: number;
  readonly currencyCode: string;
  readonly settlementDate: string;
}

const messageIdLength = 30;
/** For whichever bank receives: routing numbers are account data, which the bank does not keep. */
const receivingBank: IsoAgent = { routingNumber: '011000015', bic: 'SIMBUS33XXX' };

/** What later messages repeat of a credit transfer. No names, no account numbers. */
export function messageDetails(message: CreditTransfer, rail: IsoRail): Details {
  const { instructingAgent: customer } = message;
  return {
    rail,
    messageId: message.messageId,
    messageName: profileOf(rail).versions['pacs.008'],
    createdAt: message.createdAt,
    instructionId: message.instructionId,
    endToEndId: message.endToEndId,
    transactionId: message.transactionId,
    uetr: message.uetr,
    customerRoutingNumber: customer.routingNumber,
    customerBic: customer.bic,
    currencyCode: message.currencyCode,
    settlementDate: message.settlementDate,
  };
}

/** Null for a transfer that did not come as a message. */
export function answeredOf({
  details,
  amountMinor,
}: {
  readonly details: Details | null;
  readonly amountMinor: number | null;
}): Answered | null {
  const rail = isoRails.find((one) => one === details?.['rail']);
  if (details === null || rail === undefined) return null;
  const text = (name: string): string | null => {
    const value = details[name];
    return typeof value === 'string' ? value : null;
  };
  const customerAgent = { routingNumber: text('customerRoutingNumber'), bic: text('customerBic') };
  return {
    rail,
    customer: {
      routingNumber: customerAgent.routingNumber ?? '',
      bic: customerAgent.bic,
      participantId: null,
      isTest: true,
    },
    customerAgent,
    bank: receivingBank,
    original: {
      messageId: text('messageId'),
      messageName: text('messageName'),
      createdAt: text('createdAt'),
      instructionId: text('instructionId'),
      endToEndId: text('endToEndId'),
      transactionId: text('transactionId'),
      uetr: text('uetr'),
    },
    amountMinor: amountMinor ?? 0,
    currencyCode: text('currencyCode') ?? 'USD',
    settlementDate: text('settlementDate') ?? '',
  };
}

/** pacs.002: what the ledger says about the transfer now. */
export function statusReport(
  answered: Answered,
  { status, plan, code }: Pick<Posted, 'status' | 'plan' | 'code'>,
): StatusReport {
  switch (status) {
    case 'accepted':
      return report(answered, profileOf(answered.rail).acceptedStatus, null);
    case 'pending':
      return report(answered, plan === 'hold' ? 'PDNG' : 'RCVD', null);
    case 'refused':
      return report(answered, 'RJCT', reasonOf(code ?? notSpecified));
    case 'voided':
      return report(answered, 'RJCT', reasonOf('CUST'));
  }
}

/** Another message came under the same end-to-end id. */
export function duplicateReport(answered: Answered): StatusReport {
  return report(answered, 'RJCT', reasonOf('DUPL'));
}

/** The bank has no such transfer. */
export function notFoundReport(answered: Answered): StatusReport {
  return report(answered, 'RJCT', reasonOf('NOOR'));
}

/** camt.029: CNCL, the transfer is never executed; RJCR, the bank has taken it. */
export function cancellationAnswer(
  { rail, original, bank, customerAgent }: Answered,
  caseId: string,
  isCancelled: boolean,
): CancellationAnswer {
  return {
    type: 'camt.029',
    ...head(rail, new Date(), `cancellation ${caseId} ${isCancelled}`),
    caseId,
    original,
    status: isCancelled ? 'CNCL' : 'RJCR',
    reason: isCancelled ? null : reasonOf('ARDT'),
    assigner: bank,
    assignee: customerAgent,
  };
}

/** A published report. It is the same message whenever it is read again. */
export function reportMessage(
  answered: Answered,
  { reference, type, code, dueAt }: PublishedReport & { readonly type: ReportedByMessage },
): IsoMessage {
  const seed = `${type} ${reference} ${dueAt.toISOString()}`;
  switch (type) {
    case 'confirmed':
      return report(answered, profileOf(answered.rail).acceptedStatus, null, { at: dueAt, seed });
    case 'rejected':
      return report(answered, 'RJCT', reasonOf(code ?? notSpecified), { at: dueAt, seed });
    case 'returned':
      return returnOf(answered, code, { at: dueAt, seed });
  }
}

type ReportedByMessage = Exclude<PublishedReport['type'], 'corrected'>;

function returnOf(
  answered: Answered,
  code: string | null,
  { at, seed }: { readonly at: Date; readonly seed: string },
): PaymentReturn {
  const { rail, original, amountMinor, currencyCode, settlementDate } = answered;
  return {
    type: 'pacs.004',
    ...head(rail, at, seed),
    returnId: derivedText(`return ${seed}`, 16, 36),
    original,
    originalAmountMinor: amountMinor,
    originalSettlementDate: settlementDate,
    returnedAmountMinor: amountMinor,
    currencyCode,
    settlementDate,
    reason: code === null ? null : reasonOf(code),
    instructingAgent: answered.bank,
    instructedAgent: answered.customerAgent,
    debtor: null,
    creditor: null,
  };
}

function report(
  { rail, original, bank, customerAgent }: Answered,
  status: string,
  reason: IsoReason | null,
  { at, seed }: { readonly at: Date; readonly seed: string } = {
    at: new Date(),
    seed: `status ${original.messageId ?? ''} ${status}`,
  },
): StatusReport {
  const { originals, dateTime } = profileOf(rail);
  return {
    type: 'pacs.002',
    ...head(rail, at, seed),
    original: originals === 'RTP' ? { ...original, endToEndId: null } : original,
    status,
    reason,
    acceptedAt: dateTime(at),
    instructingAgent: bank,
    instructedAgent: customerAgent,
  };
}

const head = (rail: IsoRail, at: Date, seed: string) => ({
  messageId: `BANK${derivedText(seed, messageIdLength, 36)}`,
  createdAt: profileOf(rail).dateTime(at),
});

/** "Reason not specified": what a rejection without a code says. */
const notSpecified = 'MS03';

/** A return code of ACH is no ISO code: it travels as a code of the bank. */
function reasonOf(code: string): IsoReason {
  const isAchCode = /^R\d\d$/.test(code);
  return {
    code: isAchCode ? null : code,
    proprietary: isAchCode ? code : null,
    text: null,
  };
}
