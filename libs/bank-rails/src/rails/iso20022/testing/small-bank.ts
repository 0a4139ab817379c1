/**
 * The other side of the messages, in memory: enough of a bank for the conformance suite. The ending of the
 * contact's account number selects what it does, as in the sandbox. It executes an end-to-end id once,
 * remembers what it cancelled, and answers every message through the real XML.
 */
import type { BankMessagePage, MessageTransport } from '../../../connections/message-transport.js';
import type {
  CancellationRequest,
  CreditTransfer,
  IsoMessage,
  IsoReason,
  OriginalTransfer,
  StatusReport,
  StatusRequest,
} from '../messages.js';
import type { IsoRailProfile, IsoSender } from '../profile.js';
import { readIsoMessage } from '../read-messages.js';
import { writeIsoMessage } from '../write-messages.js';
import { originalOf } from './sample-messages.js';

interface Booked {
  readonly transfer: CreditTransfer;
  readonly status: string;
  readonly reason: IsoReason | null;
  isLate: boolean;
}

const coded = (code: string): IsoReason => ({ code, proprietary: null, text: null });
const madeUp = (proprietary: string): IsoReason => ({ code: null, proprietary, text: null });

export class SmallBank implements MessageTransport {
  /** Transfers that it executed, by end-to-end id, as often as it did. */
  readonly executed: string[] = [];
  /** The bytes of every message that reached it. */
  readonly received: Uint8Array[] = [];
  readonly inboxMessages: Uint8Array[] = [];
  /** What happens to the next answers: lost on the way, or left for the inbox. */
  answers: ('given' | 'lost' | 'later')[] = [];
  /** Rejects a pacs.008 that comes again for this reason, before it looks whether it has it. */
  repetitionsRejectedFor: string | null = null;
  /** Rejects every pacs.028 itself for this reason, and says nothing about the transfer. */
  inquiriesRejectedFor: string | null = null;
  /** Whether the bank answers inquiries as if it had no transfer yet: the first one is still on its way. */
  findsNothing = false;
  private readonly booked = new Map<string, Booked>();
  private readonly cancelled = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private count = 0;

  constructor(
    private readonly profile: IsoRailProfile,
    private readonly sender: IsoSender,
  ) {}

  send({ xml }: { readonly id: string; readonly xml: Uint8Array }): Promise<Uint8Array | null> {
    this.received.push(xml);
    const { message } = readIsoMessage(xml);
    const answer = this.write(this.answerTo(message));
    const fate = this.answers.shift() ?? 'given';
    if (fate === 'lost') return Promise.reject(new Error('the line is cut'));
    if (fate === 'given') return Promise.resolve(answer);
    this.deliver(answer);
    return Promise.resolve(null);
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  async inbox({ after, max }: { after: string; max: number }): Promise<BankMessagePage> {
    // As over a network: a reader that polls lets others work.
    await new Promise<void>((resolve) => setImmediate(resolve));
    const from = after === '' ? 0 : Number(after);
    const messages = this.inboxMessages
      .slice(from, from + max)
      .map((xml, index) => ({ sequence: String(from + index + 1), xml }));
    return { messages, cursor: messages.at(-1)?.sequence ?? after };
  }

  onMessage(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  deliver(xml: Uint8Array): void {
    this.inboxMessages.push(xml);
    for (const listener of this.listeners) listener();
  }

  write(message: IsoMessage): Uint8Array {
    return writeIsoMessage(this.profile, this.sender, message);
  }

  private answerTo(message: IsoMessage): IsoMessage {
    switch (message.type) {
      case 'pacs.008':
        return this.book(message);
      case 'pacs.028':
        return this.status(message);
      case 'camt.056':
        return this.cancel(message);
      default:
        throw new Error(`a bank gets no ${message.type}`);
    }
  }

  private book(transfer: CreditTransfer): IsoMessage {
    const { endToEndId } = transfer;
    const known = this.booked.get(endToEndId);
    if (known !== undefined) {
      if (this.repetitionsRejectedFor !== null)
        return this.rejection(transfer, this.repetitionsRejectedFor);
      const isSame = known.transfer.messageId === transfer.messageId;
      return isSame ? this.report(known) : this.rejection(transfer, 'DUPL');
    }
    if (this.cancelled.has(endToEndId)) return this.rejection(transfer, 'CUST');
    const booked = this.outcomeFor(transfer);
    this.booked.set(endToEndId, booked);
    return this.report(booked);
  }

  private outcomeFor(transfer: CreditTransfer): Booked {
    const ending = transfer.creditorAccount.slice(-4);
    const booked = { transfer, status: 'RCVD', reason: null, isLate: ending === '0402' };
    if (ending === '0204') return { ...booked, status: 'RJCT', reason: coded('MS03') };
    if (ending === '0502') return { ...booked, status: 'PDNG' };
    if (ending === '0401' || ending === '0402') return booked;
    this.executed.push(transfer.endToEndId);
    const code = { '0101': 'R01', '0102': 'R02', '0107': 'R07' }[ending];
    const returned = /^90[0-8]\d$/.test(ending) ? `R${ending.slice(2)}` : code;
    if (returned !== undefined) this.return(transfer, madeUp(returned));
    if (ending === '0199') this.return(transfer, null);
    return { ...booked, status: this.profile.acceptedStatus };
  }

  /**
   * An inquiry about a late transfer makes the bank look for it. It answers with the status that it had, and
   * confirms the transfer through the inbox.
   */
  private status({ messageId, original }: StatusRequest): IsoMessage {
    if (this.inquiriesRejectedFor !== null)
      return {
        ...this.report(null, { ...original, messageId, messageName: 'pacs.028.001.03' }),
        reason: coded(this.inquiriesRejectedFor),
      };
    const booked = this.findsNothing ? undefined : this.find(original);
    if (booked === undefined) return this.report(null, original);
    if (booked.isLate) {
      booked.isLate = false;
      this.executed.push(booked.transfer.endToEndId);
      this.deliver(this.write(this.report({ ...booked, status: this.profile.acceptedStatus })));
    }
    return this.report(booked);
  }

  private cancel({ original, caseId, assigner, assignee }: CancellationRequest): IsoMessage {
    const booked = this.find(original);
    const isTaken = booked !== undefined && booked.status !== 'RJCT';
    if (!isTaken) this.cancelled.add(caseId);
    return {
      type: 'camt.029',
      ...this.head(),
      caseId,
      original,
      status: isTaken ? 'RJCR' : 'CNCL',
      reason: isTaken ? coded('ARDT') : null,
      assigner: assignee,
      assignee: assigner,
    };
  }

  private return(transfer: CreditTransfer, reason: IsoReason | null): void {
    const { amountMinor, currencyCode, settlementDate } = transfer;
    this.deliver(
      this.write({
        type: 'pacs.004',
        ...this.head(),
        returnId: `RETURN${this.count}`,
        original: originalOf(transfer, this.profile),
        originalAmountMinor: amountMinor,
        originalSettlementDate: settlementDate,
        returnedAmountMinor: amountMinor,
        currencyCode,
        settlementDate,
        reason,
        instructingAgent: transfer.instructedAgent,
        instructedAgent: transfer.instructingAgent,
        debtor: null,
        creditor: null,
      }),
    );
  }

  private rejection(transfer: CreditTransfer, code: string): IsoMessage {
    return this.report({ transfer, status: 'RJCT', reason: coded(code), isLate: false });
  }

  private report(booked: Booked | null, original?: OriginalTransfer): StatusReport {
    const { dateTime } = this.profile;
    const about =
      original ?? (booked === null ? noOriginal : originalOf(booked.transfer, this.profile));
    return {
      type: 'pacs.002',
      ...this.head(),
      original: this.profile.originals === 'RTP' ? { ...about, endToEndId: null } : about,
      status: booked?.status ?? 'RJCT',
      reason: booked === null ? coded('NOOR') : booked.reason,
      acceptedAt: dateTime(new Date()),
      instructingAgent: { routingNumber: '011401533', bic: 'BBBBFRPPXXX' },
      instructedAgent: { routingNumber: '021000021', bic: 'AAAAUS33XXX' },
    };
  }

  private find({ messageId, endToEndId }: OriginalTransfer): Booked | undefined {
    return [...this.booked.values()].find(
      ({ transfer }) => transfer.endToEndId === endToEndId || transfer.messageId === messageId,
    );
  }

  private head() {
    this.count += 1;
    const messageId = `BANK${String(this.count).padStart(8, '0')}`;
    return { messageId, createdAt: this.profile.dateTime(new Date()) };
  }
}

const noOriginal: OriginalTransfer = {
  messageId: null,
  messageName: null,
  createdAt: null,
  instructionId: null,
  endToEndId: null,
  transactionId: null,
  uetr: null,
};
