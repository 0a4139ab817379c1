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
import { unreachable } from '@pis/domain';
import type pg from 'pg';
import {
  BankAnswerUnclear,
  type BankConnection,
  type BankNotification,
  BankRefused,
  type BankTerms,
  BankUnavailable,
  type InquiryResult,
  type SubmissionResult,
  type TransferInstruction,
  type TransferRecord,
  type VoidResult,
} from '../../bank-connection.js';
import type { FileArchive, SealedFile } from '../../connections/file-archive.js';
import type { MessageTransport } from '../../connections/message-transport.js';
import { type BankCutoffs, defaultCutoffs } from '../../calendar/rail-hours.js';
import { stopwatch } from '../../stopwatch.js';
import { maySubmit, remembers } from '../../submission-rule.js';
import { agentFor, creditTransferOf, isSameTransfer, isToSameAccount } from './credit-transfer.js';
import { instructedAgentOf, sentMessageOf, transferSegments } from './iso-copies.js';
import {
  answerAbout,
  type IsoAnswer,
  IsoExchange,
  type MessageHead,
  outcomeOfAnswer,
  outcomeOrProblem,
} from './iso-exchange.js';
import { contradictionOf, IsoFeed } from './iso-feed.js';
import {
  detailsOf,
  finalResult,
  isDoubtful,
  originalOf,
  type Outcome,
  rejectedRow,
  sendingRow,
  settles,
  submissionResult,
  unseenIn,
  voidedRow,
} from './iso-outcome.js';
import { type IsoTransfer, IsoTransfers } from './iso-transfers.js';
import {
  type CancellationAnswer,
  type IsoMessage,
  type IsoRail,
  isoRails,
  type StatusReport,
} from './messages.js';
import { identityProblem, type IsoIdentity, type IsoRailProfile } from './profile.js';
import { profileOf } from './profiles.js';
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
  /** Keeps what staff must see of a direct answer, as if it had come through the feed. Safe to repeat. */
  readonly keepNotification: (notification: BankNotification) => Promise<void>;
  readonly clock?: () => Date;
}

/** The bank may return a transfer long after it has forgotten the reference. */
const returnHorizonMs = 400 * 24 * 3_600_000;
/** A share of the time that a submission may be in flight. The rest is for the way to the bank. */
const sentShare = 0.5;
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
    ping: () => options.transport.ping(),
    queued: (references) => Promise.resolve(bank.queued(references)),
    recordOf: async (reference) => recordIn(await bank.transfers.find(reference)),
    isSame: (instruction) => bank.isSame(instruction),
    close: () => options.transport.close(),
  };
}

/** The bank has said that it has it, and has not rejected it since: that it finds none now contradicts that. */
function isKnownToHave({ state, rejection }: IsoTransfer): boolean {
  return (state === 'received' || state === 'held') && rejection === null;
}

function recordIn(transfer: IsoTransfer | null): TransferRecord | null {
  if (transfer === null) return null;
  const { state, details } = transfer;
  const isOpen = state === 'sending' || state === 'received' || state === 'held';
  // The bank may have what is still being sent.
  return { amountMinor: details?.amountMinor ?? null, status: isOpen ? 'filed' : state };
}

interface Prepared {
  readonly transfer: IsoTransfer;
  /** The bytes to send; null when there is nothing to send any more. */
  readonly xml: Uint8Array | null;
}

class IsoBank {
  readonly feed: IsoFeed;
  readonly transfers: IsoTransfers;
  private readonly exchange: IsoExchange;
  private readonly now: () => Date;
  private readonly cutoffs: BankCutoffs;
  private submissions = 0;
  /** References whose message or answer this process is writing down. */
  private readonly writing = new Set<string>();

  constructor(private readonly options: IsoBankOptions) {
    const { name, pool, transport, archive, identity, isTest, rails } = options;
    this.transfers = new IsoTransfers(pool, name, archive);
    this.now = options.clock ?? (() => new Date());
    this.cutoffs = options.cutoffs ?? defaultCutoffs;
    this.exchange = new IsoExchange({
      ...{ name, transport, archive, transfers: this.transfers },
      sender: { ...identity, isTest },
      cutoffs: this.cutoffs,
      now: this.now,
    });
    this.feed = new IsoFeed({ name, rails, transport, archive, transfers: this.transfers });
  }

  async submit(instruction: TransferInstruction): Promise<SubmissionResult> {
    const sinceCalledMs = stopwatch(() => this.now().getTime());
    const profile = this.profileFor(instruction);
    const { transfer, xml } = await this.queue(instruction, () =>
      this.written(instruction, profile),
    );
    if (transfer.state !== 'sending' || xml === null) return submissionResult(transfer);
    // This process was paused: by now others may assume that this submission cannot arrive.
    if (sinceCalledMs() > sentShare * this.options.terms.submissionInFlightMaxMs)
      throw new BankUnavailable('the submission came too late and was not sent');
    const answer = await this.exchange.send(transfer, xml, transfer.messageId ?? '');
    return submissionResult(
      await this.queue(transfer, () => this.answered(transfer, answer, profile)),
    );
  }

  queued(references: readonly string[]): ReadonlySet<string> {
    return new Set(references.filter((reference) => this.writing.has(reference)));
  }

  async inquire(reference: string): Promise<InquiryResult> {
    const transfer = await this.transfers.find(reference);
    if (transfer === null) return { outcome: 'unknown', isUnseen: true };
    const known = finalResult(transfer);
    if (known !== null) return known;
    const outcome = await this.status(transfer, profileOf(detailsOf(transfer).rail));
    const isDenied = outcome.type === 'unknown' || outcome.type === 'rejected';
    if (isDenied && !this.isRemembered(transfer))
      throw new BankAnswerUnclear('the bank has forgotten the transfer by now');
    if (outcome.type === 'unknown')
      return { outcome: isKnownToHave(transfer) ? 'received' : 'unknown' };
    const settled = await this.settled(transfer, outcome);
    return finalResult(settled) ?? { outcome: 'received' };
  }

  async void(reference: string): Promise<VoidResult> {
    const row = voidedRow(reference);
    if (await this.transfers.add(row)) return { outcome: 'voided', ...unseenIn(row) };
    const transfer = await this.transfers.find(reference);
    if (transfer === null) throw new BankAnswerUnclear('the transfer was deleted meanwhile');
    switch (transfer.state) {
      case 'voided':
      case 'rejected':
        return { outcome: 'voided', ...unseenIn(transfer) };
      case 'accepted':
        return { outcome: 'received' };
      case 'sending':
      case 'received':
      case 'held':
        return this.isRemembered(transfer) ? this.cancel(transfer) : { outcome: 'unable' };
      default:
        return unreachable(transfer.state);
    }
  }

  /**
   * Whether the bank remembers it. The claim does not tell: a log that was restored lacks the first one, and the next one is younger
   * than what was sent.
   */
  private isRemembered({ recordedAt }: IsoTransfer): boolean {
    const { terms } = this.options;
    const nowMs = this.now().getTime();
    return recordedAt === undefined || remembers(terms, recordedAt.getTime(), nowMs);
  }

  /** Work of ours on a transfer, for which the bank does not wait. */
  private async queue<Result>(
    { reference }: Pick<IsoTransfer, 'reference'>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    this.writing.add(reference);
    try {
      return await work();
    } finally {
      this.writing.delete(reference);
    }
  }

  private async written(
    instruction: TransferInstruction,
    profile: IsoRailProfile,
  ): Promise<Prepared> {
    // A number that a rail counts must not be used up for nothing. Elsewhere the row itself shows a repetition.
    const known = profile.countsMessages ? await this.transfers.find(instruction.reference) : null;
    return known === null ? this.prepare(instruction, profile) : this.again(known, instruction);
  }

  /** What the direct answer does to the transfer. It is archived with its effect, or before anything else. */
  private async answered(
    transfer: IsoTransfer,
    answer: IsoAnswer | null,
    profile: IsoRailProfile,
  ): Promise<IsoTransfer> {
    // Delivered without an answer: the bank has it, and answers through the inbox.
    if (answer === null) return this.settled(transfer, { type: 'received' });
    const outcome = outcomeOrProblem(answer, transfer, profile);
    const isUnclear = outcome instanceof BankAnswerUnclear;
    if (!isUnclear && settles(outcome) && !isDoubtful(outcome, transfer))
      return this.settled(transfer, outcome, await this.options.archive.seal(answer.copy));
    await this.options.archive.keep(answer.copy);
    if (isUnclear) throw outcome;
    return this.settled(
      transfer,
      isDoubtful(outcome, transfer) ? await this.status(transfer, profile) : outcome,
    );
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
    const seed = `pacs.008 ${reference}`;
    const messageId = await this.exchange.messageId(profile, settlementDate, seed);
    const timing = { messageId, createdAt: at, settlementDate };
    const message = creditTransferOf(instruction, profile, this.exchange.sender, timing);
    if (!('type' in message)) return this.first(rejectedRow(reference, message), null, instruction);
    const xml = writeIsoMessage(profile, this.exchange.sender, message);
    const copy = await this.options.archive.seal({
      connection: this.options.name,
      rail: profile.rail,
      way: 'out',
      kind: message.type,
      name: messageId,
      segments: transferSegments(xml, instruction),
    });
    const row = sendingRow(instruction, message, profile, copy.id);
    return this.first(row, { xml, copy }, instruction);
  }

  /** Adds the row, unless another submission or a void was first: then theirs counts. @throws BankUnavailable */
  private async first(
    row: IsoTransfer,
    message: { readonly xml: Uint8Array; readonly copy: SealedFile } | null,
    instruction: TransferInstruction,
  ): Promise<Prepared> {
    const { xml = null, copy = null } = message ?? {};
    if (await this.transfers.add(row, copy)) return { transfer: row, xml };
    const transfer = await this.transfers.find(row.reference);
    if (transfer === null)
      throw new BankAnswerUnclear(
        'the connection is paused, or the transfer was deleted meanwhile',
      );
    return this.again(transfer, instruction);
  }

  /** The same bytes, counted before they are sent. @throws BankRefused when the bank may not know any more that it has them */
  private async again(transfer: IsoTransfer, instruction: TransferInstruction): Promise<Prepared> {
    const xml = await this.bytesOf(transfer, instruction);
    if (xml === null) return { transfer, xml };
    const { recordedAt } = transfer;
    const nowMs = this.now().getTime();
    if (recordedAt !== undefined && !maySubmit(this.options.terms, recordedAt.getTime(), nowMs))
      throw new BankRefused('the transfer was sent too long ago to be sent again');
    const noted = await this.transfers.noteSend(transfer.reference);
    if (noted !== null) return { transfer: noted, xml };
    return { transfer: (await this.transfers.find(transfer.reference)) ?? transfer, xml: null };
  }

  /** The bytes that were kept. @throws BankRefused when they say something else than the instruction */
  private async bytesOf(
    transfer: IsoTransfer,
    instruction: TransferInstruction,
  ): Promise<Uint8Array | null> {
    const { fileId, details, state } = transfer;
    if (fileId === null || details === null) return null;
    const message = await sentMessageOf(transfer, this.options.archive);
    const isSame =
      details.rail === instruction.rail &&
      details.amountMinor === instruction.amountMinor &&
      details.currencyCode === instruction.currencyCode &&
      (message === null || isSameTransfer(message, instruction, profileOf(details.rail)));
    if (!isSame) throw new BankRefused('the reference belongs to another transfer');
    return state === 'sending' ? this.options.archive.bytes(fileId) : null;
  }

  /** Whatever its rail and the account of the originator: a lost payment that is created again may have others. */
  async isSame(instruction: TransferInstruction): Promise<boolean | null> {
    const transfer = await this.transfers.find(instruction.reference);
    if (transfer === null) return null;
    const message = await sentMessageOf(transfer, this.options.archive);
    if (message === null) return null;
    const { rail, amountMinor, currencyCode } = detailsOf(transfer);
    return (
      amountMinor === instruction.amountMinor &&
      currencyCode === instruction.currencyCode &&
      isToSameAccount(message, instruction, profileOf(rail))
    );
  }

  private async cancel(transfer: IsoTransfer): Promise<VoidResult> {
    const details = detailsOf(transfer);
    const profile = profileOf(details.rail);
    const assignee = await instructedAgentOf(transfer, this.options.archive);
    const answer = await this.ask(transfer, profile, (head) => ({
      type: 'camt.056',
      ...head,
      caseId: transfer.reference,
      original: originalOf(transfer, profile),
      originalAmountMinor: details.amountMinor,
      currencyCode: details.currencyCode,
      originalSettlementDate: details.settlementDate,
      reason: { code: 'CUST', proprietary: null, text: null },
      assigner: agentFor(profile, this.exchange.sender),
      assignee,
    }));
    if (answer?.type !== 'camt.029')
      throw new BankAnswerUnclear('the bank has not answered the cancellation yet');
    switch (answer.status) {
      case 'CNCL': {
        const settled = await this.transfers.settle(transfer, 'voided');
        if (settled?.state !== 'accepted') return { outcome: 'voided' };
        await this.showContradiction(answer);
        return { outcome: 'received' };
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
    const instructedAgent = await instructedAgentOf(transfer, this.options.archive);
    const answer = await this.ask(transfer, profile, (head) => ({
      type: 'pacs.028',
      ...head,
      original: originalOf(transfer, profile),
      originalAmount: isRtp ? details : null,
      originalSettlementDate: isRtp ? details.settlementDate : null,
      instructingAgent: agentFor(profile, this.exchange.sender),
      instructedAgent,
    }));
    if (answer !== null) return outcomeOfAnswer(answer, transfer, profile);
    if (transfer.state === 'sending')
      throw new BankAnswerUnclear('the bank has not answered the inquiry yet');
    return { type: transfer.state === 'held' ? 'held' : 'received' };
  }

  /** Asks the bank. Null when it answers later. @throws BankAnswerUnclear */
  private async ask(
    transfer: IsoTransfer,
    profile: IsoRailProfile,
    message: (head: MessageHead) => IsoMessage,
  ): Promise<IsoMessage | null> {
    const answer = await this.exchange.ask(transfer, profile, message);
    if (answer === null) return null;
    await this.options.archive.keep(answer.copy);
    return answerAbout(transfer, answer);
  }

  private async settled(
    transfer: IsoTransfer,
    outcome: Outcome,
    copy: SealedFile | null = null,
  ): Promise<IsoTransfer> {
    switch (outcome.type) {
      case 'accepted':
      case 'received':
      case 'held':
        return (await this.transfers.settle(transfer, outcome.type, { copy })) ?? transfer;
      case 'rejected': {
        const { rejection, report } = outcome;
        const settled = await this.transfers.settle(transfer, 'rejected', { rejection, copy });
        if (settled?.state === 'accepted') await this.showContradiction(report);
        return settled ?? transfer;
      }
      case 'unanswered':
        throw new BankAnswerUnclear('the bank did not take the inquiry');
      case 'duplicate':
      case 'unknown':
        throw new BankAnswerUnclear('the bank knows the transfer and does not say its status');
      default:
        return unreachable(outcome);
    }
  }

  /** The bank has accepted meanwhile what this answer rejects or cancels. The feed shows staff the same. */
  private showContradiction(answer: CancellationAnswer | StatusReport): Promise<void> {
    return this.options.keepNotification(contradictionOf(answer));
  }

  /** A row is needed as long as a return may name it. Not waited for: the next time does it, too. */
  private forgetOldRows(): void {
    this.submissions += 1;
    if (this.submissions % submissionsPerForget !== 0) return;
    const memoryMs = Math.max(returnHorizonMs, 2 * this.options.terms.referenceMemoryMs);
    this.transfers.forget(memoryMs, this.now()).catch(() => undefined);
  }
}
