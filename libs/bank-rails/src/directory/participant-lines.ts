/** The lines of a participant list, read in bounded memory. */

/** A line and its number, from 1. */
export interface Line {
  readonly number: number;
  /** Without the line break. */
  readonly bytes: Uint8Array;
}

/** The whole file is refused. Nothing was imported. */
export class DirectoryFileRefused extends Error {
  override readonly name = 'DirectoryFileRefused';
}

/** Longer than any line of the lists. */
export const lineBytesMax = 1_000;
/** The largest list has about 20,000. */
export const linesMax = 200_000;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Empty lines at the end are left out. @throws DirectoryFileRefused */
export async function* linesOf(file: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let number = 0;
  let emptyLines = 0;
  const lines = function* (bytes: Uint8Array): Generator<Line> {
    number += 1;
    if (number > linesMax) throw new DirectoryFileRefused(`more than ${linesMax} lines`);
    if (bytes.length > lineBytesMax) throw tooLong(number);
    if (bytes.length === 0) {
      emptyLines += 1;
      return;
    }
    // An empty line is an error only when something follows it.
    for (; emptyLines > 0; emptyLines -= 1)
      yield { number: number - emptyLines, bytes: new Uint8Array() };
    yield { number, bytes };
  };
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of file) {
    let begin = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, begin)) {
      yield* lines(withoutReturn(joined(rest, chunk.subarray(begin, end))));
      rest = new Uint8Array();
      begin = end + 1;
    }
    rest = joined(rest, chunk.subarray(begin));
    if (rest.length > lineBytesMax + 1) throw tooLong(number + 1);
  }
  if (rest.length > 0) yield* lines(withoutReturn(rest));
}

function tooLong(line: number): DirectoryFileRefused {
  return new DirectoryFileRefused(
    `line ${line}, column ${lineBytesMax + 1}: the line is longer than ${lineBytesMax} bytes`,
  );
}

function joined(left: Uint8Array, right: Uint8Array): Uint8Array {
  return left.length === 0 ? Uint8Array.from(right) : Buffer.concat([left, right]);
}

function withoutReturn(bytes: Uint8Array): Uint8Array {
  return bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
}
