/** The records of a BAI2 file: lines, with their continuations. Bounded, whatever the file is. */
import { StatementRefused } from './statement-parts.js';

export const bai2Limits = {
  lineMaxBytes: 16 * 1_024,
  /** Of a record with its continuations. */
  recordMax: 64 * 1_024,
} as const;

export interface Bai2Record {
  readonly code: string;
  /** Everything behind the code and its comma, without the final slash. */
  readonly body: string;
  /** Of its first line. */
  readonly line: number;
  /** With its continuations. */
  readonly lines: number;
}

const continuation = '88';

/** @throws StatementRefused */
export async function* bai2Records(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Bai2Record> {
  let current: (Bai2Record & { readonly isEnded: boolean }) | null = null;
  for await (const { text, line } of linesOf(chunks)) {
    const found = /^(\d\d)(?:,(.*))?$/.exec(text.replace(/\/$/, ''));
    if (found === null)
      throw new StatementRefused(line, 'a record begins with two digits and a comma');
    const [, code = '', body = ''] = found;
    const isEnded = text.endsWith('/');
    if (code !== continuation) {
      if (current !== null) yield current;
      current = { code, body, line, lines: 1, isEnded };
      continue;
    }
    if (current === null)
      throw new StatementRefused(line, 'a continuation has nothing to continue');
    // A slash ends the last field of a line; a text goes on without one.
    const whole: string = `${current.body}${current.isEnded ? ',' : ' '}${body}`;
    if (whole.length > bai2Limits.recordMax)
      throw new StatementRefused(
        line,
        `a record is longer than ${bai2Limits.recordMax} characters`,
      );
    current = { ...current, body: whole, lines: current.lines + 1, isEnded };
  }
  if (current !== null) yield current;
}

/** Without their ends, and without empty ones. */
async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly text: string; readonly line: number }> {
  let rest = '';
  let line = 0;
  for await (const chunk of chunks) {
    rest += Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    let from = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
      line += 1;
      const text = checked(rest.slice(from, end), line);
      if (text !== '') yield { text, line };
      from = end + 1;
    }
    rest = rest.slice(from);
    if (rest.length > bai2Limits.lineMaxBytes) checked(rest, line + 1);
  }
  const text = checked(rest, line + 1);
  if (text !== '') yield { text, line: line + 1 };
}

/** Lines of a fixed length are padded. */
function checked(raw: string, line: number): string {
  if (raw.length > bai2Limits.lineMaxBytes)
    throw new StatementRefused(line, `a line is longer than ${bai2Limits.lineMaxBytes} bytes`);
  const text = (line === 1 ? raw.replace(/^\xef\xbb\xbf/, '') : raw).trimEnd();
  if (/[\0-\x08\x0b-\x1f\x7f]/.test(text))
    throw new StatementRefused(line, 'a control character is not allowed');
  return text;
}
