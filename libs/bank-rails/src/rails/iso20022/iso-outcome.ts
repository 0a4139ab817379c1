/** What a bank's answers mean for a transfer, and what a transfer's row means for the port. */
import { unreachable } from '@pis/domain';
import {
  BankAnswerUnclear,
  type InquiryResult,
  type RailRejection,
  type SubmissionResult,
  type TransferInstruction,
} from '../../bank-connection.js';
import { answersOtherMessage, type IsoTransfer, type IsoTransferDetails } from './iso-transfers.js';
import type { CreditTransfer, IsoMessage, OriginalTransfer, StatusReport } from './messages.js';
import type { IsoRailProfile } from './profile.js';
import { readIsoMessage } from './read-messages.js';
import { duplicateReasons, notFoundReason, rejectionOf } from './rejection-reasons.js';
import { meaningOfStatus } from './statuses.js';
import { MessageRefused } from './xml.js';

/** What became of a transfer, as the bank says now. */
export type Outcome =
  | { readonly type: 'accepted' | 'received' | 'held' }
  | {
      readonly type: 'rejected';
      readonly rejection: RailRejection;
      readonly report: StatusReport;
    }
  /** The bank has a transfer of this reference, and does not say what became of it. */
  | { readonly type: 'duplicate' }
  /** The bank has no transfer of this reference. */
  | { readonly type: 'unknown' }
  /** It answers our inquiry, and says nothing about the transfer. */
  | { readonly type: 'unanswered' };

/** @throws BankAnswerUnclear for a status that is none of ISO's */
export function outcomeOf(
  report: StatusReport,
  details: IsoTransferDetails,
  profile: IsoRailProfile,
): Outcome {
  const { status, reason } = report;
  if (answersOtherMessage(report.original)) return outcomeOfInquiry(report, profile);
  const meaning = meaningOfStatus(status, profile);
  switch (meaning) {
    case 'accepted':
    case 'received':
    case 'held':
      return { type: meaning };
    case 'rejected': {
      const code = reason?.code ?? '';
      if (code === notFoundReason) return { type: 'unknown' };
      if (duplicateReasons.includes(code)) return { type: 'duplicate' };
      return { type: 'rejected', rejection: rejectionOf(reason, details), report };
    }
    case 'unknown':
      throw new BankAnswerUnclear('the status of the transfer is none that we know');
    default:
      return unreachable(meaning);
  }
}

/** Of a report that names our inquiry. Its status may be the inquiry's, unless only a transfer can have it. */
function outcomeOfInquiry({ status, reason }: StatusReport, profile: IsoRailProfile): Outcome {
  if (reason?.code === notFoundReason) return { type: 'unknown' };
  const isAccepted =
    meaningOfStatus(status, profile) === 'accepted' && !profile.alsoAccepted.includes(status);
  return { type: isAccepted ? 'accepted' : 'unanswered' };
}

/** Whether the bank must be asked for the status before the answer to a submission counts. */
export function isDoubtful({ type }: Outcome, { sends }: IsoTransfer): boolean {
  // The bank may reject the repetition alone, for its old date, and have executed the first one.
  return type === 'duplicate' || type === 'unknown' || (type === 'rejected' && sends > 1);
}

/** Whether the transfer's row says it afterwards. */
export function settles({ type }: Outcome): boolean {
  return type === 'accepted' || type === 'received' || type === 'held' || type === 'rejected';
}

export function isOpen({ state }: IsoTransfer): boolean {
  return state === 'sending' || state === 'received' || state === 'held';
}

/** @throws BankAnswerUnclear while the outcome is unknown */
export function submissionResult(transfer: IsoTransfer): SubmissionResult {
  switch (transfer.state) {
    case 'accepted':
      return { outcome: 'accepted' };
    case 'received':
      return { outcome: 'pending', confirmationExpected: true };
    case 'held':
      return { outcome: 'pending', confirmationExpected: false };
    case 'rejected':
    case 'voided':
      return { outcome: 'error', rejection: transfer.rejection ?? voidedRejection };
    case 'sending':
      throw new BankAnswerUnclear('the bank has not said what became of the transfer');
    default:
      return unreachable(transfer.state);
  }
}

/** Null while only the bank can tell. */
export function finalResult(transfer: IsoTransfer): InquiryResult | null {
  switch (transfer.state) {
    case 'accepted':
      return { outcome: 'accepted' };
    case 'rejected':
    case 'voided':
      return {
        outcome: 'error',
        rejection: transfer.rejection ?? voidedRejection,
        ...unseenIn(transfer),
      };
    case 'sending':
    case 'received':
    case 'held':
      return null;
    default:
      return unreachable(transfer.state);
  }
}

/** A voided row without details is that of a void which found none: nobody asked the bank. */
export function unseenIn({ state, details }: IsoTransfer): { readonly isUnseen?: boolean } {
  return state === 'voided' && details === null ? { isUnseen: true } : {};
}

const voidedRejection: RailRejection = {
  failureCode: 'INTERNAL_ERROR',
  field: null,
  message: 'The payment was withdrawn before it was executed: create a new payment.',
  reason: 'The payment was withdrawn before the bank executed it. No funds were moved.',
  railCode: null,
};

/** @throws BankAnswerUnclear for a row that only voids a reference */
export function detailsOf({ details }: IsoTransfer): IsoTransferDetails {
  if (details === null) throw new BankAnswerUnclear('nothing was ever sent under the reference');
  return details;
}

export function originalOf(transfer: IsoTransfer, profile: IsoRailProfile): OriginalTransfer {
  const { createdAt, transactionId } = detailsOf(transfer);
  const { messageId, instructionId, reference, uetr } = transfer;
  const messageName = profile.versions['pacs.008'];
  const ids = { messageId, messageName, createdAt, instructionId, transactionId };
  const isRtp = profile.originals === 'RTP';
  return { ...ids, endToEndId: isRtp ? null : reference, uetr };
}

const unsent = {
  messageId: null,
  instructionId: null,
  uetr: null,
  fileId: null,
  sends: 0,
} as const;

/** Keeps a reference that was never submitted from being sent. */
export function voidedRow(reference: string): IsoTransfer {
  return { reference, state: 'voided', rejection: null, details: null, ...unsent };
}

/** A transfer that cannot be a message of its rail: nothing is ever sent. */
export function rejectedRow(reference: string, rejection: RailRejection): IsoTransfer {
  return { reference, state: 'rejected', rejection, details: null, ...unsent };
}

export function sendingRow(
  instruction: TransferInstruction,
  message: CreditTransfer,
  profile: IsoRailProfile,
  fileId: string,
): IsoTransfer {
  const { paymentId, originatorId, contactId } = instruction;
  const { originatorEntityType, contactEntityType } = instruction;
  const { createdAt, transactionId, settlementDate, amountMinor, currencyCode } = message;
  return {
    reference: instruction.reference,
    state: 'sending',
    rejection: null,
    details: {
      ...{ rail: profile.rail, paymentId, originatorId, originatorEntityType },
      ...{ contactId, contactEntityType, createdAt, transactionId, settlementDate },
      ...{ amountMinor, currencyCode },
    },
    messageId: message.messageId,
    instructionId: message.instructionId,
    uetr: message.uetr,
    fileId,
    // It is sent once the row is there.
    sends: 1,
  };
}

export function readOrNull(bytes: Uint8Array): IsoMessage | null {
  try {
    return readIsoMessage(bytes).message;
  } catch (error) {
    if (error instanceof MessageRefused) return null;
    throw error;
  }
}
