/**
 * The way of one message to the bank and of its direct answer back: the message's id, its bytes, and the
 * copies of both for the archive.
 */
import { randomUUID } from 'node:crypto';
import { BankAnswerUnclear, BankUnavailable } from '../../bank-connection.js';
import type { BankCutoffs } from '../../calendar/rail-hours.js';
import type { FileArchive, FileToKeep } from '../../connections/file-archive.js';
import type { MessageTransport } from '../../connections/message-transport.js';
import { dayOf } from './credit-transfer.js';
import { transferSegments, unmatchedSegments } from './iso-copies.js';
import { detailsOf, type Outcome, outcomeOf, readOrNull } from './iso-outcome.js';
import { isAbout, type IsoTransfer, type IsoTransfers } from './iso-transfers.js';
import type { IsoMessage } from './messages.js';
import type { IsoRailProfile, IsoSender } from './profile.js';
import { settlementDateOf } from './settlement-date.js';
import { writeIsoMessage } from './write-messages.js';

export interface IsoExchangeOptions {
  /** Of the connection. */
  readonly name: string;
  readonly transport: MessageTransport;
  readonly archive: Pick<FileArchive, 'keep'>;
  readonly transfers: Pick<IsoTransfers, 'nextNumber'>;
  readonly sender: IsoSender;
  readonly cutoffs: BankCutoffs;
  readonly now: () => Date;
}

export interface MessageHead {
  readonly messageId: string;
  readonly createdAt: string;
}

/** A direct answer of the bank. It counts when its copy is archived. */
export interface IsoAnswer {
  /** Null when it cannot be read. */
  readonly message: IsoMessage | null;
  readonly copy: FileToKeep;
}

/** Six digits: of one connection on one day. */
const messageNumberMax = 999_999;

export class IsoExchange {
  constructor(private readonly options: IsoExchangeOptions) {}

  get sender(): IsoSender {
    return this.options.sender;
  }

  /** @param date of the settlement, YYYY-MM-DD */
  async messageId(profile: IsoRailProfile, date: string, seed: string): Promise<string> {
    const { transfers, sender } = this.options;
    const number = profile.countsMessages ? await transfers.nextNumber(date) : 0;
    if (number > messageNumberMax)
      throw new BankUnavailable('no message can be sent on that day any more');
    return profile.messageId({ day: dayOf(date), identity: sender, seed, number });
  }

  /** Archives and sends a question about a transfer. Null when the bank answers later. */
  async ask(
    transfer: IsoTransfer,
    profile: IsoRailProfile,
    message: (head: MessageHead) => IsoMessage,
  ): Promise<IsoAnswer | null> {
    const { name, archive, sender, cutoffs, now } = this.options;
    const at = now();
    const date = settlementDateOf(profile.rail, at, cutoffs);
    const messageId = await this.messageId(profile, date, `inquiry ${randomUUID()}`);
    const asked = message({ messageId, createdAt: profile.dateTime(at) });
    const xml = writeIsoMessage(profile, sender, asked);
    await archive.keep({
      connection: name,
      rail: profile.rail,
      way: 'out',
      kind: asked.type,
      name: messageId,
      segments: transferSegments(xml, detailsOf(transfer)),
    });
    return this.send(transfer, xml, messageId);
  }

  /** Sends a message about the transfer. Null when the bank answers later. */
  async send(transfer: IsoTransfer, xml: Uint8Array, id: string): Promise<IsoAnswer | null> {
    const bytes = await this.options.transport.send({ id, xml });
    if (bytes === null) return null;
    const details = detailsOf(transfer);
    const message = readOrNull(bytes);
    const isAnswer =
      message !== null && 'original' in message && isAbout(message.original, transfer);
    const copy: FileToKeep = {
      connection: this.options.name,
      rail: details.rail,
      way: 'in',
      kind: message?.type ?? 'unreadable',
      name: message?.messageId ?? id,
      segments: isAnswer
        ? transferSegments(bytes, details)
        : unmatchedSegments(bytes, details.paymentId),
    };
    return { message, copy };
  }
}

/** The answer, which must be about this transfer. @throws BankAnswerUnclear */
export function answerAbout(transfer: IsoTransfer, { message }: IsoAnswer): IsoMessage {
  if (message === null) throw new BankAnswerUnclear('the answer of the bank cannot be read');
  if (!('original' in message)) throw new BankAnswerUnclear('the answer is no answer');
  if (!isAbout(message.original, transfer))
    throw new BankAnswerUnclear('the answer is about another transfer');
  return message;
}

/** @throws BankAnswerUnclear */
export function outcomeOfAnswer(
  answer: IsoMessage,
  transfer: IsoTransfer,
  profile: IsoRailProfile,
): Outcome {
  if (answer.type !== 'pacs.002') throw new BankAnswerUnclear('the answer is no status report');
  return outcomeOf(answer, detailsOf(transfer), profile);
}

/** What the direct answer to a submission says, or why it says nothing. */
export function outcomeOrProblem(
  answer: IsoAnswer,
  transfer: IsoTransfer,
  profile: IsoRailProfile,
): Outcome | BankAnswerUnclear {
  try {
    return outcomeOfAnswer(answerAbout(transfer, answer), transfer, profile);
  } catch (error) {
    if (error instanceof BankAnswerUnclear) return error;
    throw error;
  }
}
