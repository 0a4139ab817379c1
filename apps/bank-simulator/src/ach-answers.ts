/** The files with which the ACH desk answers: acknowledgements, returns and notifications of change. */
import {
  type AckEntry,
  type BatchTerms,
  correctedDataOf,
  correctionEntry,
  type EntryOfBatch,
  groupIntoFiles,
  isChangeCode,
  isTransactionCode,
  type NachaBatch,
  type NachaEntry,
  type NachaFile,
  returnedEntry,
  standardEntryClasses,
  traceNumberOf,
  traceSequenceMax,
  writeAckFile,
  writeNachaFile,
} from '@pis/bank-rails/ach';
import type { Details, Posted } from './ledger.js';
import type { PublishedReport } from './reports.js';

/** What the desk puts into the mailbox. */
export interface OutgoingFile {
  readonly kind: 'ack' | 'returns' | 'corrections';
  readonly bytes: Uint8Array;
  /** How often it is delivered. */
  readonly deliveries: number;
}

/** Of a transfer whose details say so. */
interface AchDetails {
  readonly file: string;
  readonly sha256: string;
  readonly standardEntryClass: BatchTerms['standardEntryClass'];
  readonly companyId: string;
  readonly entryDescription: string;
  readonly odfi: string;
  readonly transactionCode: NachaEntry['transactionCode'];
  readonly accountLastFour: string;
  readonly individualId: string;
}

/** The bank keeps no names and no account numbers. Its files have this in their place. */
const notKept = 'NAME NOT KEPT';
const accountNumberLength = 17;
/** For whichever bank receives: routing numbers are not kept either. */
const receivingDfi = '011000015';

export function achDetails(
  batch: NachaBatch,
  entry: NachaEntry,
  { name, sha256 }: { readonly name: string; readonly sha256: string },
): Details {
  // In a WEB credit the field has the name of a person.
  const hasName = batch.standardEntryClass === 'WEB' && entry.transactionCode.endsWith('2');
  return {
    file: name,
    sha256,
    standardEntryClass: batch.standardEntryClass,
    companyId: batch.companyId,
    entryDescription: batch.entryDescription,
    odfi: batch.odfi,
    transactionCode: entry.transactionCode,
    accountLastFour: entry.accountNumber.slice(-4),
    individualId: hasName ? '' : entry.individualId,
  } satisfies AchDetails;
}

/** What the bank says about an entry; nothing when it is accepted, which is what an unlisted entry is. */
export function ackEntryOf(posted: Posted, sha256: string): readonly AckEntry[] {
  const entry = knownEntryOf(posted, sha256);
  return entry.status === 'accepted' ? [] : [entry];
}

/** What the bank knows about an entry of a file with these bytes. */
export function knownEntryOf(posted: Posted, sha256: string): AckEntry {
  if (detailsOf(posted)?.sha256 === sha256) return stateOf(posted);
  return {
    ...{ traceNumber: posted.reference, status: 'rejected', code: 'DUPLICATE_ENTRY' },
    message: 'The bank has this trace number in another file.',
  };
}

function stateOf({ reference, status, plan, code }: Posted): AckEntry {
  const entry = { traceNumber: reference, code: null, message: null };
  switch (status) {
    case 'accepted':
      return { ...entry, status: 'accepted' };
    case 'pending':
      return { ...entry, status: plan === 'hold' ? 'held' : 'pending' };
    case 'refused':
    case 'voided':
      return {
        ...entry,
        status: 'rejected',
        code: code ?? 'OTHER',
        message: 'No funds were moved.',
      };
  }
}

/** The state of these entries as of now, for the files in which they came. */
export function ackUpdates(known: readonly Posted[], at: Date): readonly OutgoingFile[] {
  const entries = known.flatMap((posted) => {
    const details = detailsOf(posted);
    return details === null ? [] : [{ details, entry: stateOf(posted), deliveries: 1 }];
  });
  return updates(entries, at);
}

/** Files for published reports, in their order. */
export async function reportFiles(
  reports: readonly PublishedReport[],
  at: Date,
): Promise<readonly OutgoingFile[]> {
  const known = reports.flatMap((report) => {
    const details = detailsOf(report);
    return details === null ? [] : [{ report, details }];
  });
  const states = known.flatMap(({ report, details }) => {
    const { reference: traceNumber, code, deliveries } = report;
    if (report.type === 'confirmed') return [{ details, deliveries, entry: accepted(traceNumber) }];
    if (report.type === 'rejected')
      return [{ details, deliveries, entry: rejected(traceNumber, code) }];
    return [];
  });
  const returns = known.flatMap(({ report, details }) =>
    report.type === 'returned' ? [returnOf(report, details)] : [],
  );
  const corrections = known.flatMap(({ report, details }) =>
    report.type === 'corrected' ? correctionOf(report, details) : [],
  );
  return [
    ...updates(states, at),
    ...(await nachaFiles('returns', returns, at)),
    ...(await nachaFiles('corrections', corrections, at)),
  ];
}

const accepted = (traceNumber: string): AckEntry => ({
  ...{ traceNumber, status: 'accepted', code: null, message: null },
});

const rejected = (traceNumber: string, code: string | null): AckEntry => ({
  ...{ traceNumber, status: 'rejected', code: code ?? 'OTHER', message: 'No funds were moved.' },
});

interface EntryState {
  readonly details: AchDetails;
  readonly entry: AckEntry;
  readonly deliveries: number;
}

/** One acknowledgement per file of the customer. */
function updates(states: readonly EntryState[], at: Date): readonly OutgoingFile[] {
  return [...Map.groupBy(states, ({ details }) => details.sha256).values()].map((group) => {
    const [first] = group;
    const ack = {
      name: first?.details.file ?? '',
      sha256: first?.details.sha256 ?? '',
      status: 'update',
      code: null,
      message: null,
      at: at.toISOString(),
      entries: group.map(({ entry }) => entry),
    } as const;
    const deliveries = Math.max(...group.map((state) => state.deliveries));
    return { kind: 'ack', bytes: writeAckFile(ack), deliveries };
  });
}

type Answer = EntryOfBatch & { readonly deliveries: number };

function returnOf(report: PublishedReport, details: AchDetails): Answer {
  const terms = { reason: report.code, traceNumber: answerTrace(report) };
  return { ...returnedEntry(originalOf(report, details), terms), deliveries: report.deliveries };
}

function correctionOf(report: PublishedReport, details: AchDetails): readonly Answer[] {
  const { code, corrected, deliveries } = report;
  if (code === null || corrected === null || !isChangeCode(code)) return [];
  const { batch, entry } = correctionEntry(originalOf(report, details), {
    changeCode: code,
    correction: {},
    traceNumber: answerTrace(report),
  });
  if (entry.addenda?.kind !== 'correction') return [];
  const addenda = { ...entry.addenda, corrected: correctedDataOf(code, corrected) };
  return [{ batch, entry: { ...entry, addenda }, deliveries }];
}

/** Each answer has a trace number of the receiving bank, in the order of the reports. */
function answerTrace({ sequence }: PublishedReport): string {
  const place = Number(BigInt(sequence) % BigInt(traceSequenceMax + 1));
  return traceNumberOf(receivingDfi.slice(0, 8), place);
}

/** The entry as far as the bank has kept it. */
function originalOf(report: PublishedReport, details: AchDetails): EntryOfBatch {
  return {
    batch: {
      standardEntryClass: details.standardEntryClass,
      companyName: notKept,
      companyId: details.companyId,
      companyDiscretionaryData: '',
      entryDescription: details.entryDescription,
      descriptiveDate: '',
      effectiveDate: null,
      settlementDay: null,
      odfi: details.odfi,
    },
    entry: {
      transactionCode: details.transactionCode,
      receivingDfi,
      accountNumber: details.accountLastFour.padStart(accountNumberLength, '*'),
      amountMinor: report.amountMinor ?? 0,
      individualId: details.individualId,
      individualName: notKept,
      discretionaryData: details.standardEntryClass === 'WEB' ? 'S' : '',
      addenda: null,
      traceNumber: report.reference,
    },
  };
}

async function nachaFiles(
  kind: 'returns' | 'corrections',
  answers: readonly Answer[],
  at: Date,
): Promise<readonly OutgoingFile[]> {
  const files: OutgoingFile[] = [];
  // Answers that are delivered more than once must not take the others along.
  for (const [deliveries, group] of Map.groupBy(answers, (answer) => answer.deliveries))
    for (const batches of groupIntoFiles(group)) {
      const destination = batches[0]?.entries[0]?.receivingDfi ?? '';
      const file: NachaFile = {
        header: {
          immediateDestination: destination,
          immediateOrigin: destination,
          createdOn: at.toISOString().slice(0, 10),
          createdAt: at.toISOString().slice(11, 16),
          fileIdModifier: 'A',
          destinationName: 'CUSTOMER',
          originName: 'SIMULATED BANK',
          referenceCode: '',
        },
        batches,
      };
      files.push({ kind, bytes: await writeNachaFile(file), deliveries });
    }
  return files;
}

/** Null for a transfer that did not come in a file. */
function detailsOf({ details }: { readonly details: Details | null }): AchDetails | null {
  if (details === null) return null;
  const text = (name: string) => String(details[name] ?? '');
  const standardEntryClass = standardEntryClasses.find(
    (one) => one === details['standardEntryClass'],
  );
  const transactionCode = text('transactionCode');
  if (standardEntryClass === undefined || !isTransactionCode(transactionCode)) return null;
  return {
    ...{ file: text('file'), sha256: text('sha256'), standardEntryClass, transactionCode },
    ...{ companyId: text('companyId'), entryDescription: text('entryDescription') },
    ...{
      odfi: text('odfi'),
      accountLastFour: text('accountLastFour'),
      individualId: text('individualId'),
    },
  };
}
