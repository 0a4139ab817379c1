/**
 * The copies of inquiries and of the bank's ACH files in the archive, cut so that what speaks of an entry of ours is sealed for its
 * contact. An acknowledgement may quote anything, so its lines are sealed for the originator, too. What is about no
 * entry of ours may name anybody.
 */
import { ownerOf } from '@pis/keyring';
import type { ArchiveSegment } from '../../connections/file-archive.js';
import type { AckFile } from './ack-file.js';
import type { KnownEntry } from './ach-known.js';
import { recordLength } from './nacha-records.js';
import { otherClassOf } from './nacha-skipped.js';

const newline = 0x0a;
const batchDigit = 0x35;
const entryDigit = 0x36;
const addendaDigit = 0x37;

/** It may name anybody. */
export function unmatchedSegment(bytes: Uint8Array): ArchiveSegment {
  return { bytes, owner: 'file', paymentId: null };
}

/** Headers, controls and totals speak of no party. */
function archivesOwn(bytes: Uint8Array): ArchiveSegment {
  return { bytes, owner: null, paymentId: null };
}

/**
 * A NACHA file, where each entry with its addenda is a segment of its own.
 * @param entryAt the entry of ours that the n-th entry of the file is about. Those of skipped batches do not count
 */
export function nachaCopy(
  bytes: Uint8Array,
  entryAt: (index: number) => KnownEntry | undefined,
): readonly ArchiveSegment[] {
  const segments: ArchiveSegment[] = [];
  let start = 0;
  let current: ((part: Uint8Array) => ArchiveSegment) | null = null;
  let entries = 0;
  let isSkipped = false;
  const cut = (end: number): void => {
    if (end > start) segments.push((current ?? archivesOwn)(bytes.subarray(start, end)));
    start = end;
  };
  const hasLineEnds = bytes.subarray(0, recordLength + 2).includes(newline);
  for (let line = 0; line < bytes.length; ) {
    const type = bytes[line];
    if (type === batchDigit) isSkipped = otherClassOf(textOf(bytes, line)) !== null;
    if (type === entryDigit) {
      cut(line);
      current = isSkipped ? unmatchedSegment : segmentOf(entryAt(entries));
      if (!isSkipped) entries += 1;
    } else if (type !== addendaDigit && current !== null) {
      cut(line);
      current = null;
    }
    const end = hasLineEnds ? bytes.indexOf(newline, line) : line + recordLength - 1;
    line = end === -1 ? bytes.length : end + 1;
  }
  cut(bytes.length);
  return segments;
}

function textOf(bytes: Uint8Array, start: number): string {
  return Buffer.from(bytes.subarray(start, start + recordLength)).toString('latin1');
}

function segmentOf(entry: KnownEntry | undefined): (part: Uint8Array) => ArchiveSegment {
  if (entry === undefined) return unmatchedSegment;
  const { contactId, paymentId } = entry;
  return (bytes) => ({ bytes, owner: ownerOf.contact(contactId), paymentId });
}

/**
 * An acknowledgement that was read, line by line: one about the file, one for each entry that it lists, the end.
 * @param entryOf the entry of ours with this trace number in the acknowledged file
 */
export function ackCopy(
  bytes: Uint8Array,
  { code, message, entries }: AckFile,
  entryOf: (traceNumber: string) => KnownEntry | undefined,
): readonly ArchiveSegment[] {
  return linesOf(bytes).map((line, index, { length }) => {
    if (index === 0)
      return quotesNothing(code, message) ? archivesOwn(line) : unmatchedSegment(line);
    if (index === length - 1) return archivesOwn(line);
    const entry = entryOf(entries[index - 1]?.traceNumber ?? '');
    if (entry === undefined) return unmatchedSegment(line);
    const { contactId, originatorId, paymentId } = entry;
    const owners = {
      owner: ownerOf.contact(contactId),
      secondOwner: ownerOf.originator(originatorId),
    };
    return { bytes: line, ...owners, paymentId };
  });
}

/**
 * An inquiry of ours. A trace number is no personal data: the archive's own key seals it.
 * @param paymentIds of the entries, in their order
 */
export function inquiryCopy(
  bytes: Uint8Array,
  paymentIds: readonly (string | null)[],
): readonly ArchiveSegment[] {
  return linesOf(bytes).map((line, index) => ({
    ...archivesOwn(line),
    paymentId: paymentIds[index - 1] ?? null,
  }));
}

/** A text of the bank may quote an entry. A code in letters does not. */
function quotesNothing(code: string | null, message: string | null): boolean {
  return message === null && (code === null || /^([A-Z_]+|R\d\d)$/.test(code));
}

/** Each with its end. */
function linesOf(bytes: Uint8Array): readonly Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(newline, start);
    const end = found === -1 ? bytes.length : found + 1;
    lines.push(bytes.subarray(start, end));
    start = end;
  }
  return lines;
}
