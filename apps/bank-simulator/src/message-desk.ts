/**
 * The desk for ISO 20022 messages of the simulated bank: credit transfers, status requests and cancellation
 * requests come in and are answered directly. Later reports wait in the inbox of the customer, in one order.
 * A transfer executes once per end-to-end id for as long as the bank remembers it. The same message again
 * gets the same status; another message under the end-to-end id is rejected as a duplicate.
 */
import { BankRefused } from '@pis/bank-rails';
import {
  type CancellationRequest,
  type CreditTransfer,
  type IsoMessage,
  type IsoRail,
  isoRails,
  MessageRefused,
  type OriginalTransfer,
  profileOf,
  readIsoMessage,
  type StatusRequest,
  writeIsoMessage,
} from '@pis/bank-rails/iso20022';
import type { BankMessagePage } from '@pis/bank-rails/connections';
import { type BankCore, firstReportInMs, Hints, reachable } from './bank-core.js';
import {
  type Answered,
  answeredOf,
  cancellationAnswer,
  duplicateReport,
  messageDetails,
  notFoundReport,
  reportMessage,
  statusReport,
} from './message-answers.js';
import { publishUntilNow, reportsAfter } from './reports.js';

export class MessageDesk {
  private readonly hints = new Hints();

  constructor(private readonly core: BankCore) {}

  /**
   * The bank's direct answer to a message. Safe to repeat.
   * @throws BankRefused for what is no message that a bank takes; BankUnavailable when the books cannot be reached
   */
  async answer(xml: Uint8Array): Promise<Uint8Array> {
    const message = readRefusing(xml);
    const rail = railOf(xml);
    const { answered, message: answer } = await reachable(() => this.answerTo(message, rail));
    return writeIsoMessage(profileOf(rail), answered.customer, answer);
  }

  /** What the bank reports later, behind a cursor. */
  inbox({
    after,
    max,
  }: {
    readonly after: string;
    readonly max: number;
  }): Promise<BankMessagePage> {
    return reachable(async () => {
      const { pool } = this.core;
      this.hints.in(await publishUntilNow(pool, 'messages'));
      const reports = await reportsAfter(pool, 'messages', { after, max });
      const messages = reports.flatMap((report) => {
        const answered = answeredOf(report);
        if (answered === null || report.type === 'corrected') return [];
        const message = reportMessage(answered, { ...report, type: report.type });
        const xml = writeIsoMessage(profileOf(answered.rail), answered.customer, message);
        return [{ sequence: report.sequence, xml }];
      });
      return { messages, cursor: reports.at(-1)?.sequence ?? after };
    });
  }

  onMessage(listener: () => void): () => void {
    return this.hints.listen(listener);
  }

  close(): void {
    this.hints.close();
  }

  private answerTo(message: IsoMessage, rail: IsoRail): Promise<Answer> {
    switch (message.type) {
      case 'pacs.008':
        return this.take(message, rail);
      case 'pacs.028':
        return this.status(message, rail);
      case 'camt.056':
        return this.cancel(message, rail);
      case 'pacs.002':
      case 'pacs.004':
      case 'camt.029':
        throw new BankRefused(`a bank takes no ${message.type}`);
    }
  }

  private async take(message: CreditTransfer, rail: IsoRail): Promise<Answer> {
    const { endToEndId, amountMinor, currencyCode, creditorAccount, creditorAgent } = message;
    if (amountMinor <= 0) throw new BankRefused('the amount must be positive');
    const direction = 'OUTBOUND' as const;
    const course = this.core.courseOf({
      ...{ rail, direction, amountMinor, accountNumber: creditorAccount },
      routingNumber: creditorAgent.routingNumber ?? '',
      name: message.creditor.name,
    });
    const details = messageDetails(message, rail);
    const posted = await this.core.ledger.post({
      ...{ reference: endToEndId, channel: 'messages', paymentId: null, rail, direction },
      ...{ amountMinor, currencyCode, accountLastFour: creditorAccount.slice(-4), course, details },
    });
    this.hints.in(firstReportInMs([course]));
    const own = answeredOf({ ...posted, details, amountMinor });
    if (own === null) throw new Error('the details of a credit transfer must be readable');
    const isSame = posted.details?.['messageId'] === message.messageId;
    return {
      answered: own,
      message: isSame ? statusReport(own, posted) : duplicateReport(own),
    };
  }

  private async status({ original, ...asked }: StatusRequest, rail: IsoRail): Promise<Answer> {
    const reference = await this.referenceOf(original);
    const posted = reference === null ? null : await this.core.ledger.inquire(reference);
    if (posted?.notified === true) this.hints.now();
    const answered = posted && answeredOf({ ...posted, amountMinor: Number(posted.amount_minor) });
    if (posted !== null && answered !== null)
      return { answered, message: statusReport(answered, posted) };
    const { instructingAgent, instructedAgent } = asked;
    const unknown = answeredFrom(rail, original, {
      customer: instructingAgent,
      bank: instructedAgent,
    });
    return { answered: unknown, message: notFoundReport(unknown) };
  }

  private async cancel(request: CancellationRequest, rail: IsoRail): Promise<Answer> {
    const { original, caseId, assigner, assignee } = request;
    const reference = original.endToEndId ?? (await this.referenceOf(original)) ?? caseId;
    const { status } = await this.core.ledger.void(reference, 'messages');
    const answered = answeredFrom(rail, original, { customer: assigner, bank: assignee });
    return { answered, message: cancellationAnswer(answered, caseId, status === 'voided') };
  }

  /** RTP names a transfer by its instruction, other rails by its end-to-end id. */
  private async referenceOf({
    endToEndId,
    instructionId,
  }: OriginalTransfer): Promise<string | null> {
    if (endToEndId !== null) return endToEndId;
    const { rows } = await this.core.pool.query<{ reference: string }>({
      name: 'bank-instruction',
      text: `SELECT reference FROM bank_transfers
              WHERE channel = 'messages' AND details ->> 'instructionId' = $1 LIMIT 1`,
      values: [instructionId],
    });
    return rows[0]?.reference ?? null;
  }
}

interface Answer {
  readonly answered: Answered;
  readonly message: IsoMessage;
}

function answeredFrom(
  rail: IsoRail,
  original: OriginalTransfer,
  { customer, bank }: Pick<Answered, 'bank'> & { readonly customer: Answered['bank'] },
): Answered {
  const { routingNumber, bic } = customer;
  return {
    rail,
    customer: { routingNumber: routingNumber ?? '', bic, participantId: null, isTest: true },
    customerAgent: customer,
    bank,
    original,
    amountMinor: 0,
    currencyCode: 'USD',
    settlementDate: new Date().toISOString().slice(0, 10),
  };
}

/** By the service that the header names. SWIFT messages name banks. */
function railOf(xml: Uint8Array): IsoRail {
  const [header = ''] = Buffer.from(xml).toString('utf8').split('<Document', 1);
  const named = isoRails.find((rail) => {
    const { to } = profileOf(rail).header;
    return to !== null && header.includes(`>${to}<`);
  });
  return named ?? 'SWIFT';
}

function readRefusing(xml: Uint8Array): IsoMessage {
  try {
    return readIsoMessage(xml).message;
  } catch (error) {
    if (error instanceof MessageRefused) throw new BankRefused(error.message, { cause: error });
    throw error;
  }
}
