/**
 * The bank over NACHA files, as a BankConnection. Towards the executor the table of entries is the bank: a
 * submission is a durable row there, and nothing else is executed. Files take the rows to the real bank, and the
 * bank's files say what became of them.
 *
 *   submit ─► ach_entries ─► ach_files + archive ─► upload
 *                  ▲                                   │
 *   notifications ◄─ ach_feed ◄─ acknowledgements, returns, corrections
 *
 * What always holds: a reference gets into at most one file, and a file is sent with the bytes that were recorded
 * first. Several processes may run the same connection.
 */
import { type Keyring, ownerOf } from '@pis/keyring';
import { WakeLoop, type WakeLoopOptions } from '@pis/postgres';
import type pg from 'pg';
import {
  BankAnswerUnclear,
  type BankConnection,
  BankRefused,
  type BankTerms,
  BankUnavailable,
  type InquiryResult,
  type Readiness,
  type SubmissionResult,
  type TransferInstruction,
  type TransferRecord,
  type Unread,
  type VoidResult,
} from '../../bank-connection.js';
import { describeIssues, transferInstructionSchema } from '../../bank-wire.js';
import type { AchIdentity } from '../../connections/bank-config.js';
import type { FileArchive } from '../../connections/file-archive.js';
import type { FileTransport } from '../../connections/file-transport.js';
import { UnreadWatch } from '../../unread-watch.js';
import {
  batchTermsOf,
  entryClassOf,
  entryRejection,
  individualIdOf,
  nachaEntryOf,
  codeOf,
  receiverOf,
} from './ach-entry.js';
import { readReports } from './ach-feed.js';
import { AchFileBuilder } from './ach-file-builder.js';
import { AchInbound } from './ach-inbound.js';
import { AchInbox } from './ach-inbox.js';
import { AchInquiries } from './ach-inquiries.js';
import { dueTimes, queuedEntries } from './ach-queue.js';
import { AchOutbound } from './ach-outbound.js';
import { AchPrenotes } from './ach-prenotes.js';
import { voidedRejection } from './ach-rejections.js';
import { pruneAch } from './ach-retention.js';
import type { AchSchedule } from './ach-schedule.js';
import { AchStayingFiles } from './ach-staying-files.js';
import { type AchSubmission, AchSubmissions, type SubmittedEntry } from './ach-submissions.js';
import type { AchLog } from './ach-tables.js';
import { entryPlace, type EntryTerms, entryText, termsMac } from './ach-terms.js';
import { traceNumberOf } from './nacha-file.js';

export interface AchBankOptions {
  /** Of the connection. Never changes: the rows belong to it. */
  readonly name: string;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  /** Closed with the connection. */
  readonly transport: FileTransport;
  readonly archive: FileArchive;
  readonly terms: BankTerms;
  readonly identity: AchIdentity;
  readonly schedule: AchSchedule;
  readonly log: AchLog;
  readonly limits?: Partial<AchLimits>;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** The same, compared with PostgreSQL's clock. Tests set the other one to times to come. */
  readonly wallClock?: () => number;
}

export interface AchLimits {
  /** How often the tables are looked at without a hint. */
  readonly pollMs: number;
  /** How often the inbox is looked at without a hint. Transports hint by themselves: a bank counts requests. */
  readonly inboxPollMs: number;
  /** Another process uploads a file after this, if the one that recorded it does not. */
  readonly uploadTakeoverMs: number;
  /** An inbound file that cannot be read may still be written: it is read again for so long. */
  readonly unreadableGraceMs: number;
  /** An inbound file is removed so long after it was recorded: longer than a replica of the database lags. */
  readonly removeAfterMs: number;
  /** The pause between two inquiries about one entry. */
  readonly inquiryPauseMs: number;
  /** The pause between two files of inquiries. */
  readonly inquiryFileEveryMs: number;
  /** Entries and reports are kept for so long, or for as long as the terms say, if that is longer. */
  readonly keptForMs: number;
}

const dayMs = 24 * 3_600_000;

/** Returns may come 60 days after the settlement (R05, R07, R10, R11, R29, R51). */
const defaultLimits: AchLimits = {
  pollMs: 5_000,
  inboxPollMs: 60_000,
  uploadTakeoverMs: 5_000,
  unreadableGraceMs: 300_000,
  removeAfterMs: 600_000,
  inquiryPauseMs: 60_000,
  inquiryFileEveryMs: 60_000,
  keptForMs: 95 * dayMs,
};

export interface AchBank extends BankConnection {
  /** Begins to send and to receive. Without it, submissions wait. */
  start(): void;
}

const retryInitialMs = 100;
const retryMaxMs = 5_000;
const stopLimitMs = 2_000;
const pruneEveryMs = 3_600_000;
/** A share of the time that a submission may be in flight. The rest is for the way to the database. */
const takenShare = 0.5;

/** Submits, asks and reads; and the rounds of its loops, for tests. */
export function achBank(options: AchBankOptions): AchBank & { readonly rounds: AchRounds } {
  const bank = new NachaBank(options);
  // A plain object: callers spread connections.
  return {
    terms: bank.terms,
    rounds: bank.rounds,
    start: () => bank.start(),
    submit: (instruction) => bank.submit(instruction),
    inquire: (reference) => bank.inquire(reference),
    void: (reference) => bank.void(reference),
    notifications: (page) => bank.notifications(page),
    onNotification: (listener) => bank.onNotification(listener),
    unread: () => bank.unread(),
    queued: (references) => bank.queued(references),
    sentAt: (references) => bank.sentAt(references),
    ...(options.identity.prenotes && { prepare: (instruction) => bank.prepare(instruction) }),
    recordOf: (reference) => bank.recordOf(reference),
    isSame: (instruction) => bank.isSame(instruction),
    close: () => bank.close(),
  };
}

export interface AchRounds {
  outbound(): Promise<number | null>;
  inbound(): Promise<number | null>;
  prune(): Promise<number | null>;
}

class NachaBank implements AchBank {
  readonly terms: BankTerms;
  readonly rounds: AchRounds;
  private readonly submissions: AchSubmissions;
  private readonly outbound: AchOutbound;
  private readonly inquiries: AchInquiries;
  private readonly prenotes: AchPrenotes;
  private readonly loops: readonly WakeLoop[];
  private readonly outboundLoop: WakeLoop;
  private readonly inboundLoop: WakeLoop;
  /** When the last look at the whole inbox began, milliseconds since the epoch. */
  private inboxReadAtMs = 0;
  /** The same of the last look that left no file unread. */
  private inboxTakenInAtMs = 0;
  private readonly inboxWatch = new UnreadWatch();
  private readonly listeners = new Set<() => void>();
  private readonly endListening: () => void;
  private readonly clock: () => number;

  constructor(private readonly options: AchBankOptions) {
    const { name, pool, transport, archive, log, identity, clock = Date.now } = options;
    const limits = { ...defaultLimits, ...options.limits };
    this.clock = clock;
    this.terms = options.terms;
    this.submissions = new AchSubmissions(pool, name);
    const shared = { ...options, ...limits, bank: name, clock };
    const onReports = () => this.reported();
    this.outbound = new AchOutbound({
      ...{ bank: name, pool, archive, transport, log, clock, onReports },
      builder: new AchFileBuilder(shared),
      uploadTakeoverMs: limits.uploadTakeoverMs,
      ackOverdueMs: identity.acknowledgementMinutes * 60_000,
    });
    this.inquiries = new AchInquiries(shared);
    this.prenotes = new AchPrenotes({
      ...shared,
      inboxTakenInAtMs: () => this.inboxTakenInAtMs,
      onPrenote: () => this.outboundLoop.wake(),
      onInboxNeeded: () => this.inboundLoop.wake(),
    });
    const inbox = new AchInbox({
      ...{ transport, log, unreadableGraceMs: limits.unreadableGraceMs },
      removeAfterMs: limits.removeAfterMs,
      inbound: new AchInbound({ ...shared, onReports }),
      staying: new AchStayingFiles(pool, name),
      clock: () => performance.now(),
    });
    const keptForMs = Math.max(limits.keptForMs, this.terms.referenceMemoryMs);
    this.rounds = {
      outbound: () => this.send(),
      inbound: () => this.read(inbox),
      prune: () => pruneAch(pool, name, keptForMs, new Date(clock())),
    };
    const loop = (what: string, pollMs: number, round: WakeLoopOptions['round']) =>
      new WakeLoop({
        round,
        pollMs: () => pollMs,
        retryInitialMs,
        retryMaxMs,
        onFailure: (error) => log.warn({ err: error, bank: name }, `${what} fails, and is retried`),
        onRecovery: () => log.info({ bank: name }, `${what} goes on`),
      });
    this.outboundLoop = loop('sending ACH files', limits.pollMs, this.rounds.outbound);
    this.inboundLoop = loop('reading ACH files', limits.inboxPollMs, this.rounds.inbound);
    const pruneLoop = loop('deleting old ACH entries', pruneEveryMs, this.rounds.prune);
    this.loops = [this.outboundLoop, this.inboundLoop, pruneLoop];
    this.endListening = transport.onFile(() => this.inboundLoop.wake());
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  async submit(instruction: TransferInstruction): Promise<SubmissionResult> {
    const submission = await guarded(async () => this.submissionOf(validated(instruction)));
    const entry = await guarded(() => this.submissions.take(submission));
    if (entry === null) throw new BankUnavailable('the submission came too late and was not taken');
    const isOther = entry.termsMac !== null && entry.termsMac !== submission.termsMac;
    if (isOther || entry.bank !== this.options.name)
      throw new BankRefused('the reference was used for a transfer with other terms');
    if (entry.status === 'waiting' && !this.outbound.isHeldUp) this.outboundLoop.wake();
    return submissionResult(entry);
  }

  /** Only where the bank's accounts are checked by prenotes. */
  prepare(instruction: TransferInstruction): Promise<Readiness> {
    return guarded(() => this.prenotes.readiness(validated(instruction)));
  }

  async recordOf(reference: string): Promise<TransferRecord | null> {
    const entry = await this.ownEntry(reference);
    return entry === null ? null : { amountMinor: entry.amountMinor, status: entry.status };
  }

  /** A client that has lost its contact, too, creates it again under another ID. */
  async isSame(instruction: TransferInstruction): Promise<boolean | null> {
    const sent = await guarded(() => this.submissions.termsOf(instruction.reference));
    if (sent === null) return null;
    const { subType } = instruction.contactAccount;
    const account = { ...receiverOf(instruction), subType };
    const terms = { ...instruction, contactId: sent.contactId };
    return sent.termsMac === termsMac(this.options.keyring, terms, account);
  }

  async inquire(reference: string): Promise<InquiryResult> {
    const entry = await this.ownEntry(reference);
    if (entry === null) return { outcome: 'unknown', isUnseen: true };
    if (entry.status === 'filed') await this.askTheBank(reference);
    const result = submissionResult(entry);
    if (result.outcome === 'error') return { ...result, ...unseenIn(entry) };
    return result.outcome === 'pending' ? { outcome: 'received' } : result;
  }

  async void(reference: string): Promise<VoidResult> {
    const entry = await guarded(() => this.submissions.void(reference));
    if (entry.status === 'waiting')
      throw new BankAnswerUnclear('a file of the lost database may have the entry');
    const isVoid = entry.status === 'voided' || entry.status === 'rejected';
    return isVoid ? { outcome: 'voided', ...unseenIn(entry) } : { outcome: 'received' };
  }

  notifications(page: { readonly after: string; readonly max: number }) {
    return guarded(() => readReports(this.options.pool, this.options.name, page));
  }

  onNotification(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  unread(): Unread | null {
    return this.inboxWatch.unread;
  }

  /** While uploads fail, the bank is away, and what waits for it is late. */
  async queued(references: readonly string[]): Promise<ReadonlySet<string>> {
    if (this.outbound.isFailing) return new Set();
    const { pool, name } = this.options;
    const inboxReadAt = new Date(this.inboxReadAtMs);
    const queued = await guarded(() => queuedEntries(pool, name, references, inboxReadAt));
    if (queued.size > 0) this.inboundLoop.wake();
    return queued;
  }

  sentAt(references: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return guarded(() => dueTimes(this.options.pool, this.options.name, references));
  }

  async close(): Promise<void> {
    this.endListening();
    await Promise.all(this.loops.map((loop) => loop.stop(stopLimitMs)));
    await this.options.transport.close();
  }

  private async ownEntry(reference: string): Promise<SubmittedEntry | null> {
    const entry = await guarded(() => this.submissions.find(reference));
    return entry?.bank === this.options.name ? entry : null;
  }

  private async read(inbox: AchInbox): Promise<number | null> {
    const beganAtMs = this.clock();
    const { nextInMs, isSettled, isComplete } = await this.inboxWatch.watched(() => inbox.round());
    if (nextInMs === null && isSettled) this.inboxReadAtMs = beganAtMs;
    if (isComplete) this.inboxTakenInAtMs = beganAtMs;
    return nextInMs;
  }

  /** Payments first. */
  private async send(): Promise<number | null> {
    const filesInMs = await this.outbound.round();
    const inquiryInMs = await this.inquiries.round();
    if (filesInMs === null || inquiryInMs === null) return filesInMs ?? inquiryInMs;
    return Math.min(filesInMs, inquiryInMs);
  }

  /** An answer may also let the next file go, or be a reason to ask. */
  private reported(): void {
    if (this.options.identity.inquiries) this.inquiries.look();
    this.outboundLoop.wake();
    for (const listener of this.listeners) listener();
  }

  private async submissionOf(order: TransferInstruction): Promise<AchSubmission> {
    const { keyring, identity, schedule, terms } = this.options;
    const { reference, paymentId, organizationId, originatorId, contactId } = order;
    const { direction, amountMinor, isReinitiation = false } = order;
    const standardEntryClass = entryClassOf(identity, order.contactEntityType, direction);
    const transactionCode = codeOf('payment', direction, order.contactAccount.subType);
    const individualId = individualIdOf(reference);
    const service = order.achService ?? 'standard';
    const receiver = receiverOf(order);
    const nowMs = this.clock();
    const batch = batchTermsOf(identity, schedule.settlement(service, nowMs), {
      ...{ standardEntryClass, organizationId, direction, isReinitiation },
    });
    const entry = nachaEntryOf(receiver, {
      ...{ standardEntryClass, transactionCode, individualId, amountMinor },
      traceNumber: traceNumberOf(batch.odfi, 1),
    });
    const rejection = entryRejection(identity, { batch, entry });
    const entryTerms: EntryTerms = {
      ...{ paymentId, organizationId, originatorId, contactId, direction, amountMinor },
      ...{ standardEntryClass, transactionCode, service, individualId, isReinitiation },
    };
    const owner = ownerOf.contact(contactId);
    const place = entryPlace(this.options.name, reference);
    const sealedReceiver =
      rejection === null ? await keyring.seal(owner, entryText(receiver, entryTerms), place) : null;
    const { subType } = order.contactAccount;
    return {
      ...{ reference, ...entryTerms, sealedReceiver },
      termsMac: termsMac(keyring, order, { ...receiver, subType }),
      dueAtMs: schedule.buildAt(service, nowMs),
      takenBeforeMs: nowMs + takenShare * terms.submissionInFlightMaxMs,
      rejection,
    };
  }

  /** Best effort: the executor asks again. */
  private async askTheBank(reference: string): Promise<void> {
    if (!this.options.identity.inquiries) return;
    try {
      if (await this.inquiries.want(reference)) this.outboundLoop.wake();
    } catch (error) {
      const facts = { err: error, reference };
      this.options.log.warn(facts, 'the bank could not be asked about an ACH entry');
    }
  }
}

function validated(instruction: TransferInstruction): TransferInstruction {
  const parsed = transferInstructionSchema.safeParse(instruction);
  if (!parsed.success) throw new BankRefused(`bad instruction: ${describeIssues(parsed.error)}`);
  if (parsed.data.rail !== 'ACH' || parsed.data.currencyCode !== 'USD')
    throw new BankRefused('this connection takes ACH in USD only');
  return parsed.data;
}

function submissionResult({ status, answer, rejection }: SubmittedEntry): SubmissionResult {
  switch (status) {
    case 'waiting':
    case 'filed':
      return { outcome: 'pending', confirmationExpected: answer !== 'held' };
    case 'accepted':
    case 'returned':
      return { outcome: 'accepted' };
    case 'rejected':
    case 'voided':
      return { outcome: 'error', rejection: rejection ?? voidedRejection };
  }
}

/** A row without terms is that of a void which found none. */
function unseenIn({ status, termsMac }: SubmittedEntry): { readonly isUnseen?: boolean } {
  return status === 'voided' && termsMac === null ? { isUnseen: true } : {};
}

/** Whatever fails here, the outcome is unknown and asking again is safe. */
async function guarded<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof BankRefused || error instanceof BankUnavailable) throw error;
    throw new BankUnavailable('the ACH entries cannot be read or written', { cause: error });
  }
}
