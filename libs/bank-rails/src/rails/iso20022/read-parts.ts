/** The pieces of a message: elements that must be there once, and values that must have the right form. */
import { isoInstantOf } from './identifiers.js';
import type {
  IsoAddress,
  IsoAgent,
  IsoAmount,
  IsoParty,
  IsoReason,
  OriginalTransfer,
} from './messages.js';
import { MessageRefused, type XmlElement } from './xml.js';

/** The longest text that is kept: Max2048Text is the longest in these messages. */
const textMax = 2_048;

export class MessagePart {
  constructor(readonly element: XmlElement) {}

  /** The child of this name. @throws MessageRefused when there is none, or more than one */
  one(name: string): MessagePart {
    const found = this.maybe(name);
    if (found === null) throw new MessageRefused(`${this.element.name} has no ${name}`);
    return found;
  }

  /** Null when there is none. @throws MessageRefused when there is more than one */
  maybe(name: string): MessagePart | null {
    let found: XmlElement | null = null;
    for (const child of this.element.children) {
      if (child.name !== name) continue;
      if (found !== null)
        throw new MessageRefused(`${this.element.name} has more than one ${name}`);
      found = child;
    }
    return found === null ? null : new MessagePart(found);
  }

  all(name: string): readonly MessagePart[] {
    return this.element.children
      .filter((child) => child.name === name)
      .map((child) => new MessagePart(child));
  }

  /** The text of the child; null when there is none. */
  text(name: string): string | null {
    const text = this.maybe(name)?.element.text ?? null;
    if (text !== null && text.length > textMax)
      throw new MessageRefused(`${name} is longer than ${textMax} characters`);
    return text === '' ? null : text;
  }
}

/** An identifier or code: printable, without spaces at its ends. */
export function id(parent: MessagePart, name: string, max = 35): string {
  const text = parent.one(name).element.text;
  if (text.length > max || !/^[\x20-\x7e]+$/.test(text))
    throw new MessageRefused(`${name} must have 1 to ${max} printable characters`);
  return text;
}

function optionalId(parent: MessagePart, name: string): string | null {
  return parent.maybe(name) === null ? null : id(parent, name);
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function uuid(parent: MessagePart, name: string): string {
  const text = parent.one(name).element.text;
  if (!uuidPattern.test(text)) throw new MessageRefused(`${name} is no UUID of version 4`);
  return text;
}

export function date({ element: { name, text } }: MessagePart): string {
  if (!isCalendarDate(text)) throw new MessageRefused(`${name} is no date`);
  return text;
}

const dateTimePattern =
  /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$/;

export function dateTime({ element: { name, text } }: MessagePart): string {
  const day = dateTimePattern.exec(text)?.[1] ?? '';
  if (!isCalendarDate(day) || !isInstant(text))
    throw new MessageRefused(`${name} is no date and time`);
  return text;
}

function isInstant(text: string): boolean {
  try {
    isoInstantOf(text);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** JavaScript takes 30 February for 2 March. */
function isCalendarDate(text: string): boolean {
  const atMs = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text);
}

export function amount({ element: { name, text, attributes } }: MessagePart): IsoAmount {
  const currencyCode = attributes.get('Ccy') ?? '';
  const found = /^(\d{1,13})(?:\.(\d{1,5}))?$/.exec(text);
  const fraction = (found?.[2] ?? '').padEnd(2, '0');
  if (found === null || !/^\d\d0*$/.test(fraction) || !/^[A-Z]{3}$/.test(currencyCode))
    throw new MessageRefused(`${name} is no amount in a currency of two decimals`);
  return { amountMinor: Number(`${found[1] ?? ''}${fraction.slice(0, 2)}`), currencyCode };
}

export function agent(part: MessagePart | null): IsoAgent {
  const institution = part?.maybe('FinInstnId') ?? null;
  const member = institution?.maybe('ClrSysMmbId') ?? null;
  return {
    routingNumber: member && id(member, 'MmbId'),
    bic: institution && optionalId(institution, 'BICFI'),
  };
}

export function party(part: MessagePart): IsoParty {
  const name = part.text('Nm');
  if (name === null) throw new MessageRefused(`${part.element.name} has no Nm`);
  const address = part.maybe('PstlAdr');
  return { name, address: address && addressIn(address) };
}

function addressIn(part: MessagePart): IsoAddress {
  return {
    street: part.text('StrtNm'),
    postalCode: part.text('PstCd'),
    town: part.text('TwnNm') ?? '',
    state: part.text('CtrySubDvsn'),
    country: part.text('Ctry') ?? '',
    lines: part.all('AdrLine').map(({ element }) => element.text),
  };
}

export function account(part: MessagePart): string {
  const choice = part.one('Id');
  const other = choice.maybe('Othr');
  return other === null ? id(choice, 'IBAN', 34) : id(other, 'Id', 34);
}

/** @param group the group that names the original message, where it stands beside the transaction */
export function originalIn(transaction: MessagePart, group: MessagePart | null): OriginalTransfer {
  const named = transaction.maybe('OrgnlGrpInf') ?? group;
  return {
    messageId: named && optionalId(named, 'OrgnlMsgId'),
    messageName: named && optionalId(named, 'OrgnlMsgNmId'),
    createdAt: named?.text('OrgnlCreDtTm') ?? null,
    instructionId: optionalId(transaction, 'OrgnlInstrId'),
    endToEndId: optionalId(transaction, 'OrgnlEndToEndId'),
    transactionId: optionalId(transaction, 'OrgnlTxId'),
    uetr: transaction.maybe('OrgnlUETR') === null ? null : uuid(transaction, 'OrgnlUETR'),
  };
}

/** The first reason counts. Texts of all of them are kept together, within Max2048Text. */
export function reasonIn(transaction: MessagePart, name: string): IsoReason | null {
  const all = transaction.all(name);
  const [first] = all;
  if (first === undefined) return null;
  const choice = first.maybe('Rsn');
  const texts = all.flatMap((one) => one.all('AddtlInf').map(({ element }) => element.text));
  const text = texts.join(' ').slice(0, textMax);
  return {
    code: choice && optionalId(choice, 'Cd'),
    proprietary: choice && optionalId(choice, 'Prtry'),
    text: text === '' ? null : text,
  };
}
