/**
 * The bank connection over ISO 20022 messages.
 *
 *   submit   pacs.008 ──► pacs.002        void   camt.056 ──► camt.029
 *   inquire  pacs.028 ──► pacs.002        feed   pacs.002, pacs.004, camt.029 of the inbox
 *
 * How the port's guarantees hold: the row in iso_transfers and the exact bytes in the archive are committed
 * before the first byte is sent, so that every repetition sends the same message, and the bank executes a
 * message, an end-to-end id and a UETR once. A void is a row that keeps the reference from being sent, or the
 * bank's CNCL, which the bank remembers. An answer "duplicate", and the rejection of one of several messages,
 * prove nothing: the bank is asked for the status.
 */
import { randomUUID } from 'node:crypto';
import { unreachable } from '@pis/domain';
import type pg from 'pg';
import {
  BankAnswerUnclear,
  type BankConnection,
  BankRefused,
  type BankTerms,
  BankUnavailable,
  type InquiryResult,
  type SubmissionResult,
  type TransferInstruction,
  type VoidResult,
} from '../../bank-connection.js';
import type { FileArchive } from '../../connections/file-archive.js';
import type { MessageTransport } from '../../connections/message-transport.js';
import { type BankCutoffs, defaultCutoffs } from '../../calendar/rail-hours.js';
import { agentFor, creditTransferOf, dayOf, isSameTransfer } from './credit-transfer.js';
import { answerSegments, transferSegments } from './iso-copies.js';
import { IsoFeed } from './iso-feed.js';
import {
  detailsOf,
  finalResult,
  isDoubtful,
  originalOf,
  type Outcome,
  outcomeOf,
  readOrNull,
  rejectedRow,
  sendingRow,
  submissionResult,
  voidedRow,
} from './iso-outcome.js';
import { isAbout, type IsoTransfer, IsoTransfers } from './iso-transfers.js';
import { type IsoMessage, type IsoRail, isoRails } from './messages.js';
import {
  identityProblem,
  type IsoIdentity,
  type IsoRailProfile,
  type IsoSender,
} from './profile.js';
import { profileOf } from './profiles.js';
import { readIsoMessage } from './read-messages.js';
import { notFoundReason } from './rejection-reasons.js';
import { settlementDateOf } from './settlement-date.js';
import { writeIsoMessage } from './write-messages.js';

export interface IsoBankOptions {
  /** Of the connection: rows and archived messages belong to it. */
  readonly name: string;
  readonly rails: readonly IsoRail[];
  readonly identity: IsoIdentity;
  /** Whether messages are marked as test messages, where the rail does that. */
  readonly isTest: boolean;
  readonly pool: pg.Pool;
  readonly transport: MessageTransport;
  readonly archive: FileArchive;
  readonly terms: BankTerms;
  /** Of the bank; the operators' own when absent. */
  readonly cutoffs?: BankCutoffs;
  readonly clock?: () => Date;
}

/** The bank may return a transfer long after it has forgotten the reference. */
const returnHorizonMs = 400 * 24 * 3_600_000;
/** Six digits: of one connection on one day. */
const messageNumberMax = 999_999;
/** Every so many submissions old rows are deleted. */
const submissionsPerForget = 500;

/** @throws Error when the identity does not fit a rail */
export function isoBank(options: IsoBankOptions): BankConnection {
  for (const rail of options.rails) {
    const problem = identityProblem(profileOf(rail), options.identity);
    if (problem !== null) throw new Error(`the bank connection ${options.name}: ${problem}`);
  }
  const bank = new IsoBank(options);
  return {
    terms: options.terms,
    submit: (instruction) => bank.submit(instruction),
    inquire: (reference) => bank.inquire(reference),
    void: (reference) => bank.void(reference),
    notifications: (page) => bank.feed.notifications(page),
    onNotification: (listener) => options.transport.onMessage(listener),
    close: () => options.transport.close(),
  };
}

interface Prepared {
  readonly transfer: IsoTransfer;
  /** The bytes to send; null when there is nothing to send any more. */
  readonly xml: Uint8Array | null;
}

class IsoBank {
  readonly feed: IsoFeed;
  private readonly transfers: IsoTransfers;
  private readonly sender: IsoSender;
  private readonly now: () => Date;
  private readonly cutoffs: BankCutoffs;
  private submissions = 0;

  constructor(private readonly options: IsoBankOptions) {
    const { name, pool, transport, archive, identity, isTest, rails } = options;
    this.transfers = new IsoTransfers(pool, name);
    this.sender = { ...identity, isTest };
    this.now = options.clock ?? (() => new Date());
    this.cutoffs = options.cutoffs ?? defaultCutoffs;
    this.feed = new IsoFeed({ name, rails, transport, archive, transfers: this.transfers });
  }

  async submit(instruction: TransferInstruction): Promise<SubmissionResult> {
    const profile = this.profileFor(instruction);
    const known = await this.transfers.find(instruction.reference);
    const { transfer, xml } =
      known === null
        ? await this.prepare(instruction, profile)
        : await this.again(known, instruction);
    if (transfer.state !== 'sending' || xml === null) return submissionResult(transfer);
    const answer = await this.send(transfer, xml, transfer.messageId ?? '');
    // Delivered without an answer: the bank has it, and answers through the inbox.
    let outcome: Outcome =
      answer === null ? { type: 'received' } : this.outcomeOf(answer, transfer, profile);
    if (isDoubtful(outcome, transfer)) outcome = await this.status(transfer, profile);
    return submissionResult(await this.settled(transfer, outcome));
  }

  async inquire(reference: string): Promise<InquiryResult> {
    const transfer = await this.transfers.find(reference);
    if (transfer === null) return { outcome: 'unknown' };
    const known = finalResult(transfer);
    if (known !== null) return known;
    const outcome = await this.status(transfer, profileOf(detailsOf(transfer).rail));
    if (outcome.type === 'unknown') return { outcome: 'unknown' };
    const settled = await this.settled(transfer, outcome);
    return finalResult(settled) ?? { outcome: 'received' };
  }

  async void(reference: string): Promise<VoidResult> {
    if (await this.transfers.add(voidedRow(reference))) return { outcome: 'voided' };
    const transfer = await this.transfers.find(reference);
    if (transfer === null) throw new BankAnswerUnclear('the transfer was deleted meanwhile');
    switch (transfer.state) {
      case 'voided':
      case 'rejected':
        return { outcome: 'voided' };
      case 'accepted':
        return { outcome: 'received' };
      case 'sending':
      case 'received':
      case 'held':
        return this.cancel(transfer);
      default:
        return unreachable(transfer.state);
    }
  }

  private profileFor({ rail, direction, amountMinor }: TransferInstruction): IsoRailProfile {
    const isoRail = isoRails.find((one) => one === rail);
    if (isoRail === undefined || !this.options.rails.includes(isoRail))
      throw new BankRefused(`the connection ${this.options.name} does not carry ${rail}`);
    if (direction !== 'OUTBOUND')
      throw new BankRefused('a rail of ISO 20022 messages moves money out only');
    if (!Number.isSafeInteger(amountMinor) || amountMinor <= 0)
      throw new BankRefused('the amount is not positive');
    return profileOf(isoRail);
  }

  /** Bytes and row first, both durable: what was sent can always be sent again. */
  private async prepare(
    instruction: TransferInstruction,
    profile: IsoRailProfile,
  ): Promise<Prepared> {
    const { reference } = instruction;
    this.forgetOldRows();
    const at = this.now();
    const settlementDate = settlementDateOf(profile.rail, at, this.cutoffs);
    const messageId = await this.messageId(profile, settlementDate, `pacs.008 ${reference}`);
    const timing = { messageId, createdAt: at, settlementDate };
    const message = creditTransferOf(instruction, profile, this.sender, timing);
    if (!('type' in message)) return this.first(rejectedRow(reference, message), null, instruction);
    const xml = writeIsoMessage(profile, this.sender, message);
    const { id: fileId } = await this.options.archive.keep({
      connection: this.options.name,
      rail: profile.rail,
      way: 'out',
      kind: message.type,
      name: messageId,
      segments: transferSegments(xml, instruction),
    });
    return this.first(sendingRow(instruction, message, profile, fileId), xml, instruction);
  }

  /** Adds the row, unless another submission or a void was first: then theirs counts. */
  private async first(
    row: IsoTransfer,
    xml: Uint8Array | null,
    instruction: TransferInstruction,
  ): Promise<Prepared> {
    if (await this.transfers.add(row)) return { transfer: row, xml };
    const transfer = await this.transfers.find(row.reference);
    if (transfer === null) throw new BankAnswerUnclear('the transfer was deleted meanwhile');
    return this.again(transfer, instruction);
  }

  /** The same bytes, counted before they are sent. */
  private async again(transfer: IsoTransfer, instruction: TransferInstruction): Promise<Prepared> {
    const xml = await this.bytesOf(transfer, instruction);
    if (xml === null) return { transfer, xml };
    const noted = await this.transfers.noteSend(transfer.reference);
    if (noted !== null) return { transfer: noted, xml };
    return { transfer: (await this.transfers.find(transfer.reference)) ?? transfer, xml: null };
  }

  /** The bytes that were kept. @throws BankRefused when they say something else than the instruction */
  private async bytesOf(
    transfer: IsoTransfer,
    instruction: TransferInstruction,
  ): Promise<Uint8Array | null> {
    const { fileId, details } = transfer;
    if (fileId === null || details === null) return null;
    const isSame =
      details.rail === instruction.rail &&
      details.amountMinor === instruction.amountMinor &&
      details.currencyCode === instruction.currencyCode;
    if (!isSame) throw new BankRefused('the reference belongs to another transfer');
    if (transfer.state !== 'sending') return null;
    const xml = await this.options.archive.bytes(fileId);
    const { message } = readIsoMessage(xml);
    if (
      message.type !== 'pacs.008' ||
      !isSameTransfer(message, instruction, profileOf(details.rail))
    )
      throw new BankRefused('the reference belongs to another transfer');
    return xml;
  }

  private async cancel(transfer: IsoTransfer): Promise<VoidResult> {
    const details = detailsOf(transfer);
    const profile = profileOf(details.rail);
    const answer = await this.ask(transfer, profile, (head) => ({
      type: 'camt.056',
      ...head,
      caseId: transfer.reference,
      original: originalOf(transfer, profile),
      originalAmountMinor: details.amountMinor,
      currencyCode: details.currencyCode,
      originalSettlementDate: details.settlementDate,
      reason: { code: 'CUST', proprietary: null, text: null },
      assigner: agentFor(profile, this.sender),
      assignee: details.instructedAgent,
    }));
    if (answer?.type !== 'camt.029')
      throw new BankAnswerUnclear('the bank has not answered the cancellation yet');
    switch (answer.status) {
      case 'CNCL': {
        const settled = await this.transfers.settle(transfer, 'voided');
        return { outcome: settled?.state === 'accepted' ? 'received' : 'voided' };
      }
      case 'RJCR':
        // Without the transfer there was nothing to cancel, and it may still arrive.
        return { outcome: answer.reason?.code === notFoundReason ? 'unable' : 'received' };
      default:
        throw new BankAnswerUnclear('the bank answers the cancellation later');
    }
  }

  /** Asks for the status. @throws BankAnswerUnclear when the bank answers later */
  private async status(transfer: IsoTransfer, profile: IsoRailProfile): Promise<Outcome> {
    const details = detailsOf(transfer);
    const isRtp = profile.originals === 'RTP';
    const answer = await this.ask(transfer, profile, (head) => ({
      type: 'pacs.028',
      ...head,
      original: originalOf(transfer, profile),
      originalAmount: isRtp ? details : null,
      originalSettlementDate: isRtp ? details.settlementDate : null,
      instructingAgent: agentFor(profile, this.sender),
      instructedAgent: details.instructedAgent,
    }));
    if (answer !== null) return this.outcomeOf(answer, transfer, profile);
    if (transfer.state === 'sending')
      throw new BankAnswerUnclear('the bank has not answered the inquiry yet');
    return { type: transfer.state === 'held' ? 'held' : 'received' };
  }

  private async ask(
    transfer: IsoTransfer,
    profile: IsoRailProfile,
    message: (head: { readonly messageId: string; readonly createdAt: string }) => IsoMessage,
  ): Promise<IsoMessage | null> {
    const at = this.now();
    const messageId = await this.messageId(
      profile,
      settlementDateOf(profile.rail, at, this.cutoffs),
      `inquiry ${randomUUID()}`,
    );
    const asked = message({ messageId, createdAt: profile.dateTime(at) });
    const xml = writeIsoMessage(profile, this.sender, asked);
    await this.options.archive.keep({
      connection: this.options.name,
      rail: profile.rail,
      way: 'out',
      kind: asked.type,
      name: messageId,
      // It names the payment, and no person.
      segments: [{ bytes: xml, owner: null, paymentId: detailsOf(transfer).paymentId }],
    });
    return this.send(transfer, xml, messageId);
  }

  /** Sends and reads the direct answer, which must be about this transfer. */
  private async send(
    transfer: IsoTransfer,
    xml: Uint8Array,
    id: string,
  ): Promise<IsoMessage | null> {
    const bytes = await this.options.transport.send({ id, xml });
    if (bytes === null) return null;
    const { name, archive } = this.options;
    const details = detailsOf(transfer);
    const read = readOrNull(bytes);
    await archive.keep({
      connection: name,
      rail: details.rail,
      way: 'in',
      kind: read?.type ?? 'unreadable',
      name: read?.messageId ?? id,
      segments: answerSegments(bytes, details),
    });
    if (read === null) throw new BankAnswerUnclear('the answer of the bank cannot be read');
    if (!('original' in read)) throw new BankAnswerUnclear('the answer is no answer');
    if (!isAbout(read.original, transfer))
      throw new BankAnswerUnclear('the answer is about another transfer');
    return read;
  }

  private outcomeOf(answer: IsoMessage, transfer: IsoTransfer, profile: IsoRailProfile): Outcome {
    if (answer.type !== 'pacs.002') throw new BankAnswerUnclear('the answer is no status report');
    return outcomeOf(answer, detailsOf(transfer), profile);
  }

  private async settled(transfer: IsoTransfer, outcome: Outcome): Promise<IsoTransfer> {
    switch (outcome.type) {
      case 'accepted':
      case 'received':
      case 'held':
        return (await this.transfers.settle(transfer, outcome.type)) ?? transfer;
      case 'rejected':
        return (await this.transfers.settle(transfer, 'rejected', outcome.rejection)) ?? transfer;
      case 'unanswered':
        throw new BankAnswerUnclear('the bank did not take the inquiry');
      case 'duplicate':
      case 'unknown':
        throw new BankAnswerUnclear('the bank knows the transfer and does not say its status');
      default:
        return unreachable(outcome);
    }
  }

  private async messageId(profile: IsoRailProfile, date: string, seed: string): Promise<string> {
    const number = profile.countsMessages ? await this.transfers.nextNumber(date) : 0;
    if (number > messageNumberMax)
      throw new BankUnavailable('no message can be sent on that day any more');
    return profile.messageId({ day: dayOf(date), identity: this.sender, seed, number });
  }

  /** A row is needed as long as a return may name it. Not waited for: the next time does it, too. */
  private forgetOldRows(): void {
    this.submissions += 1;
    if (this.submissions % submissionsPerForget !== 0) return;
    const memoryMs = Math.max(returnHorizonMs, 2 * this.options.terms.referenceMemoryMs);
    this.transfers.forget(memoryMs).catch(() => undefined);
  }
}
