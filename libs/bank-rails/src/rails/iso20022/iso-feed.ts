/**
 * The bank's messages as the port's feed. The inbox has one order that never changes behind a cursor, and a
 * message becomes the same notification whenever it is read, so the feed needs no table. Every message is
 * archived before it counts as read, unless the database refuses its content. A message that cannot be read
 * or handled, or that is about no transfer of ours, is reported as unreadable and holds nothing up. So is a return
 * that does not fit its transfer, with the transfer's reference and what the bank says came back.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { canComeBack, unreachable } from '@pis/domain';
import { isDataError, isTransient } from '@pis/postgres';
import type {
  BankNotification,
  BankNotificationPage,
  RailRejection,
  ReturnedAmount,
} from '../../bank-connection.js';
import type { FileArchive } from '../../connections/file-archive.js';
import {
  type BankMessage,
  inboxPageMax,
  type MessageTransport,
} from '../../connections/message-transport.js';
import { isoInstantOf } from './identifiers.js';
import { transferSegments, unmatchedSegments } from './iso-copies.js';
import { detailsOf, isOpen, outcomeOf, readOrNull } from './iso-outcome.js';
import type { IsoTransfer, IsoTransferDetails, IsoTransfers } from './iso-transfers.js';
import type {
  CancellationAnswer,
  IsoMessage,
  IsoRail,
  PaymentReturn,
  StatusReport,
} from './messages.js';
import { profileOf } from './profiles.js';

export interface IsoFeedOptions {
  readonly name: string;
  readonly rails: readonly IsoRail[];
  readonly transport: Pick<MessageTransport, 'inbox'>;
  readonly archive: Pick<FileArchive, 'keep'>;
  readonly transfers: Pick<IsoTransfers, 'findOriginal' | 'settle'>;
}

/** Pages that are read in one call while none of their messages says anything. */
const silentPagesMax = 20;
/**
 * A page with this many messages is followed by the next one at once. The bank may have more although it gave fewer than it was
 * asked for: a transport asks for less, and banks have limits of their own. After each single message that would double the
 * requests to the bank.
 */
const readOnFrom = 16;
/** Sequences that this process has archived: the end of the inbox is read again with every poll. */
const archivedMax = 10_000;

type Report = BankMessage & { readonly at: string };
type Place = Pick<Report, 'sequence' | 'at'>;

export class IsoFeed {
  private archived = new Set<string>();

  constructor(private readonly options: IsoFeedOptions) {}

  async notifications(page: {
    readonly after: string;
    readonly max: number;
  }): Promise<BankNotificationPage> {
    const max = Math.min(page.max, inboxPageMax);
    let after = page.after;
    for (let pages = 0; pages < silentPagesMax; pages += 1) {
      const { messages, cursor } = await this.options.transport.inbox({ after, max });
      const all = await Promise.all(
        (await readAll(messages)).map(({ message, read }) => this.readable(message, read)),
      );
      const notifications = all.filter((one) => one !== null);
      if (notifications.length > 0) {
        const mayHaveMore = messages.length >= Math.min(max, readOnFrom);
        return { notifications, cursor, mayHaveMore };
      }
      const isEnd = messages.length === 0 || cursor === after;
      after = cursor;
      if (isEnd) return { notifications: [], cursor };
    }
    // What says nothing was read, too: the next call must not begin with it again.
    return { notifications: [], cursor: after, mayHaveMore: true };
  }

  /** A message that cannot be handled must not keep those behind it from being read. */
  private async readable(
    message: BankMessage,
    read: IsoMessage | null,
  ): Promise<BankNotification | null> {
    try {
      return await this.notificationOf(message, read);
    } catch (error) {
      if (!isMessagesFault(error)) throw error;
      return unreadable({ ...message, at: undated }, null);
    }
  }

  private async notificationOf(
    message: BankMessage,
    read: IsoMessage | null,
  ): Promise<BankNotification | null> {
    const transfer =
      read !== null && 'original' in read
        ? await this.options.transfers.findOriginal(read.original)
        : null;
    await this.archive(message, read, transfer);
    const report = { ...message, at: read === null ? undated : isoInstantOf(read.createdAt) };
    if (read === null || transfer === null) return unreadable(report, read);
    // Staff found the transfer in the bank's books: a return needs no more of its row.
    const isReturnOfFound = transfer.state === 'accepted' && read.type === 'pacs.004';
    if (transfer.details === null && !isReturnOfFound) return unreadable(report, read);
    switch (read.type) {
      case 'pacs.002':
        return this.statusReport(report, read, transfer);
      case 'pacs.004':
        return this.paymentReturn(report, read, transfer);
      case 'camt.029':
        return this.cancellationAnswer(report, read, transfer);
      case 'pacs.008':
      case 'pacs.028':
      case 'camt.056':
        return unreadable(report, read);
      default:
        return unreachable(read);
    }
  }

  private async statusReport(
    report: Report,
    message: StatusReport,
    transfer: IsoTransfer,
  ): Promise<BankNotification | null> {
    const details = detailsOf(transfer);
    const profile = profileOf(details.rail);
    let outcome;
    try {
      outcome = outcomeOf(message, details, profile);
    } catch {
      return unreadable(report, message);
    }
    const { transfers } = this.options;
    switch (outcome.type) {
      case 'accepted':
        await transfers.settle(transfer, 'accepted');
        return notification(report, transfer, 'confirmed');
      case 'rejected':
        return this.rejected(report, message, transfer, outcome.rejection);
      case 'held':
        await transfers.settle(transfer, 'held');
        return notification(report, transfer, 'held');
      case 'received':
        await transfers.settle(transfer, 'received');
        return null;
      case 'duplicate':
      case 'unknown':
      case 'unanswered':
        // It answers a question of ours, and proves nothing.
        return null;
      default:
        return unreachable(outcome);
    }
  }

  /**
   * The rejection of one of several messages proves nothing: the transfer stays open, and the bank is asked
   * when its time has passed. A transfer that is held has no time, so staff must ask.
   */
  private async rejected(
    report: Report,
    message: StatusReport,
    transfer: IsoTransfer,
    rejection: RailRejection,
  ): Promise<BankNotification | null> {
    const { transfers } = this.options;
    const isProof = transfer.sends <= 1 || !isOpen(transfer);
    const state = isProof ? 'rejected' : transfer.state === 'held' ? 'held' : 'received';
    const settled = (await transfers.settle(transfer, state, { rejection })) ?? transfer;
    if (settled.state === 'accepted' || settled.state === 'held')
      return unreadable(report, message);
    return isOpen(settled) ? null : notification(report, transfer, 'rejected', { rejection });
  }

  /** What comes back had been accepted, whether the bank said so or not. */
  private async paymentReturn(
    report: Report,
    message: PaymentReturn,
    transfer: IsoTransfer,
  ): Promise<BankNotification> {
    const { reason, returnId, returnedAmountMinor: amountMinor, currencyCode } = message;
    const { details } = transfer;
    // Return codes belong to ACH. A bank that gives one gives it as a code of its own.
    const code = reason?.proprietary ?? '';
    const particulars = {
      returnReasonCode: /^R\d\d$/.test(code) ? code : null,
      returnReference: returnId,
      returnedAmount: { amountMinor, currencyCode },
    };
    // Without details, of a transfer that staff found, the payment's own amount decides. An executor of an older
    // release would record any return as one of the whole amount, so one that does not fit is told as unreadable.
    if (details !== null && !isReturnOf(message, details))
      return notification(report, transfer, 'unreadable', particulars);
    await this.options.transfers.settle(transfer, 'accepted');
    return notification(report, transfer, 'returned', particulars);
  }

  /** The next void of the transfer finds the answer in the row. Staff see that an accepted transfer is canceled. */
  private async cancellationAnswer(
    report: Report,
    message: CancellationAnswer,
    transfer: IsoTransfer,
  ): Promise<BankNotification | null> {
    if (message.status !== 'CNCL') return null;
    const settled = await this.options.transfers.settle(transfer, 'voided');
    return settled?.state === 'accepted' ? unreadable(report, message) : null;
  }

  private async archive(
    { sequence, xml }: BankMessage,
    read: IsoMessage | null,
    transfer: IsoTransfer | null,
  ): Promise<void> {
    if (this.archived.has(sequence)) return;
    const { name, rails, archive } = this.options;
    const details = transfer?.details ?? null;
    await archive.keep({
      connection: name,
      rail: details?.rail ?? rails[0] ?? 'FEDNOW',
      way: 'in',
      kind: read?.type ?? 'unreadable',
      name: read?.messageId ?? sequence,
      segments: details === null ? unmatchedSegments(xml) : transferSegments(xml, details),
    });
    if (this.archived.size >= archivedMax) this.archived = new Set();
    this.archived.add(sequence);
  }
}

function isReturnOf(
  { returnedAmountMinor, currencyCode }: PaymentReturn,
  { rail: paymentRail, amountMinor: sentAmountMinor, ...sent }: IsoTransferDetails,
): boolean {
  const isSameCurrency = currencyCode === sent.currencyCode;
  return isSameCurrency && canComeBack(returnedAmountMinor, { paymentRail, sentAmountMinor });
}

interface ReadMessage {
  readonly message: BankMessage;
  /** Null when it cannot be read. */
  readonly read: IsoMessage | null;
}

/** Other work runs between two messages: a page of large ones takes long. */
async function readAll(messages: readonly BankMessage[]): Promise<readonly ReadMessage[]> {
  const all: ReadMessage[] = [];
  for (const message of messages) {
    if (all.length > 0) await nextTurn();
    all.push({ message, read: readableOrNull(message.xml) });
  }
  return all;
}

function readableOrNull(xml: Uint8Array): IsoMessage | null {
  try {
    return readOrNull(xml);
  } catch (error) {
    if (isMessagesFault(error)) return null;
    throw error;
  }
}

/** Anything else, such as a database that is away, would be the same for every message. */
function isMessagesFault(error: unknown): boolean {
  return !isTransient(error) && (error instanceof RangeError || isDataError(error));
}

/** Of a message whose time cannot be read: the same whenever it is read again. */
const undated = '1970-01-01T00:00:00.000Z';

interface Particulars {
  readonly returnReasonCode?: string | null;
  readonly returnReference?: string;
  readonly returnedAmount?: ReturnedAmount;
  readonly rejection?: RailRejection;
}

function notification(
  { sequence, at }: Place,
  { reference, details, recordedAt }: Pick<IsoTransfer, 'reference' | 'details' | 'recordedAt'>,
  type: BankNotification['type'],
  { returnReasonCode = null, returnReference, returnedAmount, rejection }: Particulars = {},
): BankNotification {
  return {
    ...{ sequence, reference, type, returnReasonCode, at },
    returnReference: returnReference ?? null,
    returnedAmount: returnedAmount ?? null,
    sentAmountMinor: details?.amountMinor ?? null,
    recordedAt: recordedAt?.toISOString() ?? null,
    rejection: rejection ?? null,
    correction: null,
  };
}

/** A direct answer that contradicts what the bank has said before. The inbox never has such a sequence. */
export function contradictionOf(answer: CancellationAnswer | StatusReport): BankNotification {
  const sequence = `answer ${answer.messageId}`;
  return unreadable({ sequence, at: instantOr(undated, answer) }, answer);
}

function instantOr(otherwise: string, { createdAt }: IsoMessage): string {
  try {
    return isoInstantOf(createdAt);
  } catch (error) {
    if (error instanceof RangeError) return otherwise;
    throw error;
  }
}

/** No payment has such a reference, so staff sees the message among those that match nothing. */
function unreadable(report: Place, read: IsoMessage | null): BankNotification {
  const named = read?.messageId ?? report.sequence;
  return notification(report, { reference: `ISO message ${named}`, details: null }, 'unreadable');
}
