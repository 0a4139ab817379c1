/** A transfer as an entry of a NACHA file: which field has which of its data. See docs/rails-ach.md. */
import { createHash } from 'node:crypto';
import type { BankAccountSubType, Direction, EntityType } from '@pis/domain';
import type { RailRejection, TransferInstruction } from '../../bank-connection.js';
import type { AchCompany, AchIdentity } from '../../connections/bank-config.js';
import { amountRejection, formatRejection } from './ach-rejections.js';
import type { AchSettlement } from './ach-schedule.js';
import { standardEntryClassOf } from './nacha-batches.js';
import {
  type BatchTerms,
  type NachaEntry,
  sameDayDescriptiveDate,
  type StandardEntryClass,
  type TransactionCode,
  transactionCodeOf,
} from './nacha-file.js';
import { batchProblem, entryProblem } from './nacha-rules.js';
import { nachaText } from './nacha-text.js';

/** What is sealed under the contact's key until it is in a file. */
export interface AchReceiver {
  readonly routingNumber: string;
  readonly accountNumber: string;
  readonly name: string;
  readonly note: string | null;
}

const odfiLength = 8;
const companyNameMax = 16;
const nameMax = 22;
const noteMax = 80;
const individualIdLength = 15;
const idDigits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';

export function receiverOf({
  contactAccount,
  contactName,
  note,
}: TransferInstruction): AchReceiver {
  return {
    routingNumber: contactAccount.achRoutingNumber,
    accountNumber: contactAccount.achAccountNumber,
    name: contactName,
    note,
  };
}

/**
 * To the ACH network the originator is the company that the bank knows, so a credit to a person is PPD, also
 * where the originator is a person.
 */
export function entryClassOf(
  { consumerDebits }: AchIdentity,
  contact: EntityType,
  direction: Direction,
): StandardEntryClass {
  const contactIsPerson = contact === 'INDIVIDUAL';
  return standardEntryClassOf({
    direction,
    consumerDebits,
    contactIsPerson,
    originatorIsPerson: false,
  });
}

export function codeOf(
  purpose: 'payment' | 'prenote',
  direction: Direction,
  account: BankAccountSubType,
): TransactionCode {
  const side = direction === 'INBOUND' ? 'debit' : 'credit';
  return transactionCodeOf({ account, side, purpose });
}

/**
 * 15 letters and digits from the reference's SHA-256. It is derived, so that an entry that is sent again out of a
 * database restored from a backup has the same one, and the bank or its staff recognize it.
 */
export function individualIdOf(reference: string): string {
  let rest = BigInt(`0x${createHash('sha256').update(`ach ${reference}`).digest('hex')}`);
  let id = '';
  for (let place = 0; place < individualIdLength; place += 1) {
    id += idDigits.charAt(Number(rest % 36n));
    rest /= 36n;
  }
  return id;
}

export function batchTermsOf(
  identity: AchIdentity,
  { effectiveDate, sameDayAt }: AchSettlement,
  entry: {
    readonly standardEntryClass: StandardEntryClass;
    readonly organizationId: string;
    readonly direction: Direction;
    readonly isReinitiation: boolean;
  },
): BatchTerms {
  const company = companyOf(identity, entry.organizationId);
  return {
    standardEntryClass: entry.standardEntryClass,
    companyName: nachaText(company.name, companyNameMax),
    companyId: company.id,
    companyDiscretionaryData: '',
    entryDescription: entryDescriptionOf(entry),
    descriptiveDate: sameDayAt === null ? '' : sameDayDescriptiveDate(sameDayAt),
    effectiveDate,
    settlementDay: null,
    odfi: identity.odfiRoutingNumber.slice(0, odfiLength),
  };
}

/** Nacha Operating Rules, "Reinitiation": these words name an entry that was returned for R01 or R09 before. */
const reinitiation = 'RETRY PYMT';

function entryDescriptionOf(entry: {
  readonly direction: Direction;
  readonly isReinitiation: boolean;
}): string {
  if (entry.direction === 'OUTBOUND') return 'PAYMENT';
  return entry.isReinitiation ? reinitiation : 'COLLECTION';
}

/** The name of a receiver as the bank gets it. */
export function achName(name: string): string {
  return nachaText(name, nameMax);
}

export function nachaEntryOf(
  receiver: AchReceiver,
  entry: Pick<NachaEntry, 'transactionCode' | 'amountMinor' | 'individualId' | 'traceNumber'> & {
    readonly standardEntryClass: StandardEntryClass;
  },
): NachaEntry {
  const information = nachaText(receiver.note ?? '', noteMax);
  return {
    transactionCode: entry.transactionCode,
    receivingDfi: receiver.routingNumber,
    accountNumber: receiver.accountNumber,
    amountMinor: entry.amountMinor,
    individualId: entry.individualId,
    individualName: achName(receiver.name),
    discretionaryData: entry.standardEntryClass === 'WEB' ? 'S' : '',
    addenda: information === '' ? null : { kind: 'payment', information },
    traceNumber: entry.traceNumber,
  };
}

/** Why it can be in no file of this bank; null when it can. A business has a CCD entry. */
export function entryRejection(
  { limits }: AchIdentity,
  { batch, entry }: { readonly batch: BatchTerms; readonly entry: NachaEntry },
): RailRejection | null {
  const problem = entryProblem(batch, entry) ?? batchProblem(batch);
  if (problem !== null) return formatRejection(problem.field, batch.standardEntryClass === 'CCD');
  const { amountPerFileMaxMinor } = limits;
  return entry.amountMinor > amountPerFileMaxMinor ? amountRejection(amountPerFileMaxMinor) : null;
}

export function companyOf({ company, companies }: AchIdentity, organizationId: string): AchCompany {
  return (Object.hasOwn(companies, organizationId) && companies[organizationId]) || company;
}
