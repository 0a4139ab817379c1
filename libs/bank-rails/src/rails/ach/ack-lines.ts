/** Writes and reads AckFile and InquiryFile as JSON Lines. See ack-file.ts for the lines. */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import {
  ackEntryStatuses,
  type AckEntry,
  type AckFile,
  ackFileStatuses,
  type InquiryFile,
} from './ack-file.js';
import type { NachaProblem } from './nacha-lines.js';

/** After so many lines the reader lets others run. */
const linesPerTurn = 2_000;
const textMax = 500;
const lineFeed = 0x0a;
const bytesMax = 32 * 1024 * 1024;
const lineBytesMax = 8_192;

const traceNumber = z.string().regex(/^\d{15}$/);
const code = z
  .string()
  .regex(/^[\x21-\x7e]{1,32}$/)
  .nullable();
/** Without control characters: PostgreSQL and logs do not take all of them. */
const text = z.string().regex(/^\P{Cc}*$/u);
const message = text.max(textMax).nullable();
const at = z.iso.datetime({ precision: 3 });
const endLine = z.strictObject({ type: z.literal('end'), entries: z.int().nonnegative() });
const ackHead = z.strictObject({
  type: z.literal('file'),
  name: text.min(1).max(255),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  status: z.enum(ackFileStatuses),
  code,
  message,
  at,
});
const ackEntry = z.strictObject({
  type: z.literal('entry'),
  traceNumber,
  status: z.enum(ackEntryStatuses),
  code,
  message,
});
const inquiryHead = z.strictObject({ type: z.literal('inquiry'), at });
const inquiryEntry = z.strictObject({ type: z.literal('entry'), traceNumber });

export type ParsedAck =
  | { readonly file: AckFile; readonly problem: null }
  | { readonly file: null; readonly problem: NachaProblem };

export type ParsedInquiry =
  | { readonly file: InquiryFile; readonly problem: null }
  | { readonly file: null; readonly problem: NachaProblem };

/** @throws RangeError if a field has a value that parseAckFile would refuse */
export function writeAckFile({ entries, ...head }: AckFile): Uint8Array {
  return jsonLines(
    checked(ackHead, { type: 'file', ...head }),
    entries.map((entry) => checked(ackEntry, { type: 'entry', ...entry })),
  );
}

/** @throws RangeError if a field has a value that parseInquiryFile would refuse */
export function writeInquiryFile({ at, traceNumbers }: InquiryFile): Uint8Array {
  return jsonLines(
    checked(inquiryHead, { type: 'inquiry', at }),
    traceNumbers.map((traceNumber) => checked(inquiryEntry, { type: 'entry', traceNumber })),
  );
}

/** Never rejects because of the bytes. */
export async function parseAckFile(bytes: Uint8Array): Promise<ParsedAck> {
  const found = await readLines(bytes, { head: ackHead, entry: ackEntry });
  if (found.problem !== null) return { file: null, problem: found.problem };
  const { type: _, ...head } = found.head;
  const entries: AckEntry[] = found.entries.map(({ type: _, ...entry }) => entry);
  return { file: { ...head, entries }, problem: null };
}

/** Never rejects because of the bytes. */
export async function parseInquiryFile(bytes: Uint8Array): Promise<ParsedInquiry> {
  const found = await readLines(bytes, { head: inquiryHead, entry: inquiryEntry });
  if (found.problem !== null) return { file: null, problem: found.problem };
  const traceNumbers = found.entries.map((entry) => entry.traceNumber);
  return { file: { at: found.head.at, traceNumbers }, problem: null };
}

/** What a file says it is, by its first bytes. A file of that kind may still be unreadable. */
export function kindOfAchFile(bytes: Uint8Array): 'nacha' | 'ack' | 'inquiry' | null {
  const start = Buffer.from(bytes.subarray(0, 32)).toString('latin1');
  if (start.startsWith('101')) return 'nacha';
  if (start.startsWith('{"type":"file"')) return 'ack';
  return start.startsWith('{"type":"inquiry"') ? 'inquiry' : null;
}

type Lines<Head, Entry> =
  | { readonly head: Head; readonly entries: readonly Entry[]; readonly problem: null }
  | { readonly problem: NachaProblem };

async function readLines<Head, Entry>(
  bytes: Uint8Array,
  expected: { head: z.ZodType<Head>; entry: z.ZodType<Entry> },
): Promise<Lines<Head, Entry>> {
  if (bytes.byteLength > bytesMax)
    return refusal(1, `the file has more than ${String(bytesMax)} bytes`);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries: Entry[] = [];
  let head: Head | null = null;
  let isComplete = false;
  let line = 0;
  for (let start = 0; start < buffer.length; ) {
    line += 1;
    if (line % linesPerTurn === 0) await setImmediate();
    if (isComplete) return refusal(line, 'the file goes on after its last line');
    const found = buffer.indexOf(lineFeed, start);
    if (found < 0) return refusal(line, 'the line has no end');
    if (found - start > lineBytesMax)
      return refusal(line, `the line has more than ${String(lineBytesMax)} bytes`);
    const value = jsonOf(buffer.toString('utf8', start, found));
    start = found + 1;
    if (head === null) {
      const read = expected.head.safeParse(value);
      if (!read.success) return refusal(line, problemOf(read.error));
      head = read.data;
      continue;
    }
    if (isEndLine(value)) {
      const end = endLine.safeParse(value);
      if (!end.success) return refusal(line, problemOf(end.error));
      if (end.data.entries !== entries.length)
        return refusal(
          line,
          `the file has ${String(entries.length)} entries instead of ${String(end.data.entries)}`,
        );
      isComplete = true;
      continue;
    }
    const entry = expected.entry.safeParse(value);
    if (!entry.success) return refusal(line, problemOf(entry.error));
    entries.push(entry.data);
  }
  if (head === null || !isComplete) return refusal(line + 1, 'the last line is missing');
  return { head, entries, problem: null };
}

function isEndLine(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'end';
}

/** Undefined, which no schema accepts, if the text is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  const path = issue?.path.join('.') ?? '';
  return path === '' ? 'the line is not as expected' : `${path} is not as expected`;
}

function refusal(line: number, message: string): { problem: NachaProblem } {
  return { problem: { line, column: 1, message } };
}

function checked<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const read = schema.safeParse(value);
  if (!read.success) throw new RangeError(problemOf(read.error));
  return read.data;
}

function jsonLines(head: unknown, entries: readonly unknown[]): Uint8Array {
  const lines = [head, ...entries, { type: 'end', entries: entries.length }];
  return Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), 'utf8');
}
