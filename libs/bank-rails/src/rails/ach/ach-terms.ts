/**
 * What keeps an entry as it was submitted until it is in a file. The receiver's account, name and note are sealed for
 * this entry alone, together with everything else that goes into it. Whoever changes a column of the row, or brings
 * another sealed text into it, has an entry that does not fit, and it is not sent.
 */
import { type AchService, achServices, type BankAccountSubType, type Direction } from '@pis/domain';
import type { Keyring } from '@pis/keyring';
import { paymentIdOfRailReference } from '../../rail-reference.js';
import { type AchReceiver, individualIdOf } from './ach-entry.js';
import {
  isTransactionCode,
  type StandardEntryClass,
  standardEntryClasses,
  type TransactionCode,
  transactionCodes,
} from './nacha-file.js';

/** Columns of a row. */
export interface EntryTerms {
  readonly paymentId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly contactId: string;
  readonly direction: Direction;
  readonly amountMinor: number;
  readonly standardEntryClass: StandardEntryClass;
  readonly transactionCode: TransactionCode;
  readonly service: AchService;
  readonly individualId: string;
  readonly isReinitiation: boolean;
}

interface SealedEntry extends AchReceiver {
  /** Missing in texts of earlier releases. */
  readonly terms?: readonly (string | number)[];
  /** Beside the terms: executors of the previous release compare them whole, and may build the file. */
  readonly isReinitiation?: true;
}

/** A text opens for the entry that it was sealed for. Earlier releases sealed for no place. */
export function entryPlace(bank: string, reference: string): string {
  return `ach-entry/${bank}/${reference}`;
}

/** What is sealed in the row. */
export function entryText(receiver: AchReceiver, terms: EntryTerms): string {
  const presentation = terms.isReinitiation ? ({ isReinitiation: true } as const) : {};
  const sealed: SealedEntry = { ...receiver, terms: listOf(terms), ...presentation };
  return JSON.stringify(sealed);
}

/** Tells a second transfer under the same reference from a repetition. */
export function termsMac(
  keyring: Pick<Keyring, 'mac'>,
  terms: Pick<EntryTerms, 'paymentId' | 'direction' | 'amountMinor' | 'contactId'>,
  account: {
    readonly routingNumber: string;
    readonly accountNumber: string;
    readonly subType: BankAccountSubType;
  },
): string {
  const { paymentId, direction, amountMinor, contactId } = terms;
  const { routingNumber, accountNumber, subType } = account;
  const text = JSON.stringify([
    ...[paymentId.toLowerCase(), direction, amountMinor, contactId.toLowerCase()],
    ...[routingNumber, accountNumber, subType],
  ]);
  return keyring.mac('ach-terms', text);
}

/**
 * The receiver of a row, if everything is as it was submitted; otherwise null.
 * @param text what the row's sealed text says
 */
export function submittedReceiver(
  keyring: Pick<Keyring, 'mac'>,
  row: EntryTerms & { readonly reference: string; readonly termsMac: string | null },
  text: string,
): AchReceiver | null {
  const { terms, isReinitiation = false, ...receiver } = JSON.parse(text) as SealedEntry;
  if (row.isReinitiation !== isReinitiation) return null;
  if (!isTransactionCode(row.transactionCode)) return null;
  const { account: subType } = transactionCodes[row.transactionCode];
  if (row.termsMac !== termsMac(keyring, row, { ...receiver, subType })) return null;
  const isAsSubmitted =
    terms === undefined ? isPlausible(row) : JSON.stringify(terms) === JSON.stringify(listOf(row));
  return isAsSubmitted ? receiver : null;
}

function listOf(terms: EntryTerms): readonly (string | number)[] {
  const { paymentId, organizationId, originatorId, contactId } = terms;
  return [
    ...[paymentId, organizationId, originatorId, contactId].map((id) => id.toLowerCase()),
    ...[terms.direction, terms.amountMinor, terms.standardEntryClass, terms.transactionCode],
    ...[terms.service, terms.individualId],
  ];
}

/** Of a row that an earlier release wrote, beyond its MAC. */
function isPlausible(row: EntryTerms & { readonly reference: string }): boolean {
  const { reference, paymentId, individualId, direction, service, standardEntryClass } = row;
  return (
    paymentIdOfRailReference(reference) === paymentId &&
    individualId === individualIdOf(reference) &&
    transactionCodes[row.transactionCode].side === (direction === 'INBOUND' ? 'debit' : 'credit') &&
    achServices.includes(service) &&
    standardEntryClasses.includes(standardEntryClass)
  );
}
