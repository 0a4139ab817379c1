import { generator } from '@pis/local-servers/testing';
import { randomForwardFile, randomReturnFile, testFileHeader } from '../../testing/nacha-files.js';
import { traceNumberOf } from './nacha-file.js';
import { nachaProblemText, parseNachaFile } from './nacha-parser.js';
import { writeNachaFile } from './nacha-writer.js';

const bytesOf = (text: string) => Buffer.from(text, 'latin1');
const textOf = async (seed: number, count = 5) =>
  Buffer.from(await writeNachaFile(randomForwardFile(generator(seed), count))).toString('latin1');
const problemOf = async (text: string) => {
  const { problem } = await parseNachaFile(bytesOf(text));
  return problem === null ? null : nachaProblemText(problem);
};

/** The text with one line replaced or changed. Lines count from 1. */
function withLine(text: string, number: number, change: (line: string) => string): string {
  const lines = text.split('\n');
  lines[number - 1] = change(lines[number - 1] ?? '');
  return lines.join('\n');
}

function over(line: string, column: number, characters: string): string {
  return line.slice(0, column - 1) + characters + line.slice(column - 1 + characters.length);
}

describe('A NACHA file from the bank', () => {
  it('is read with line feeds, with carriage returns, and without line ends', async () => {
    const text = await textOf(1);
    const { file } = await parseNachaFile(bytesOf(text));
    expect(file?.batches.length).toBeGreaterThan(0);
    for (const other of [text.replaceAll('\n', '\r\n'), text.replaceAll('\n', ''), text.trimEnd()])
      expect(await parseNachaFile(bytesOf(other))).toEqual({ file, skipped: [], problem: null });
  });

  it('is read without the nines that fill its last block', async () => {
    const text = await textOf(2);
    const { file } = await parseNachaFile(bytesOf(text));
    const short = text.replace(/(9{94}\n)+$/, '');
    expect(await parseNachaFile(bytesOf(short))).toEqual({ file, skipped: [], problem: null });
  });

  it('is refused with the line and the column of its first problem', async () => {
    const text = await textOf(3);
    const entryLine = 3;
    const cases: [string, string][] = [
      ['', 'Line 1, column 1: the file is empty.'],
      ['hello', 'Line 1, column 6: the line has 5 characters instead of 94.'],
      [
        withLine(text, entryLine, (line) => over(line, 40, '\u0000')),
        'Line 3, column 40: byte 0x00 is no printable ASCII character.',
      ],
      [
        withLine(text, entryLine, (line) => over(line, 30, '00000A')),
        'Line 3, column 30: the amount must be 10 digits.',
      ],
      [
        withLine(text, entryLine, (line) => over(line, 2, '99')),
        'Line 3, column 2: transaction code 99 is not supported.',
      ],
      [
        withLine(text, entryLine, (line) => over(line, 79, '7')),
        'Line 3, column 79: the addenda indicator must be 0 or 1.',
      ],
      [
        withLine(text, 2, (line) => over(line, 51, 'IAT')),
        'Line 2, column 51: batches of class IAT are not supported.',
      ],
      [
        withLine(text, 1, (line) => over(line, 24, '261331')),
        'Line 1, column 24: the creation date must be a date.',
      ],
      [
        withLine(text, 2, () => '4'.repeat(94)),
        'Line 2, column 1: a record of type 4 may not stand here.',
      ],
      [
        `${'x'.repeat(94)}\n`,
        'Line 1, column 1: the first record must be a file header of type 1.',
      ],
    ];
    for (const [bytes, message] of cases) expect(await problemOf(bytes)).toBe(message);
  });

  it('is refused when a count, a hash or a total is wrong', async () => {
    const lines = (await textOf(4)).split('\n');
    for (const type of ['8', '9']) {
      const number = lines.findIndex((line) => line.startsWith(type)) + 1;
      const columns = type === '8' ? [5, 11, 21, 33] : [2, 8, 14, 22, 32, 44];
      for (const column of columns) {
        const changed = withLine(lines.join('\n'), number, (line) => {
          const digit = Number(line.charAt(column + 4));
          return over(line, column + 4 + 1, String((digit + 1) % 10));
        });
        expect(await problemOf(changed)).toMatch(
          new RegExp(
            `^Line ${String(number)}, column ${String(column)}: the .* is \\d+ instead of \\d+\\.$`,
          ),
        );
      }
    }
  });

  it('is refused when it is torn at any place before its file control', async () => {
    const text = await textOf(5, 3);
    const control = text.indexOf('\n9') + 95;
    for (let length = 0; length < control; length += 1)
      expect((await parseNachaFile(bytesOf(text.slice(0, length)))).file).toBeNull();
  });

  it('is refused when it is too large, without looking at it', async () => {
    const { problem } = await parseNachaFile(bytesOf(await textOf(6)), { bytesMax: 500 });
    expect(problem).toEqual({ line: 1, column: 1, message: 'the file has more than 500 bytes' });
  });

  it('is refused when an entry lacks the addenda record that it announces', async () => {
    const lines = (await textOf(7, 12)).split('\n');
    const addenda = lines.findIndex((line) => line.startsWith('7'));
    const without = lines.toSpliced(addenda, 1).join('\n');
    expect(await problemOf(without)).toBe(
      `Line ${String(addenda + 1)}, column 1: the entry before announced an addenda record.`,
    );
    const twice = lines.toSpliced(addenda, 0, lines[addenda] ?? '').join('\n');
    expect(await problemOf(twice)).toBe(
      `Line ${String(addenda + 2)}, column 1: no entry announced an addenda record here.`,
    );
  });
});

describe('A batch of a class that is not supported', () => {
  const isHeader = (line: string) => line.startsWith('5');
  /** A file of several batches, and the text in which one of them is of another class. */
  async function fileWith(entryClass: string) {
    const files = [8, 9, 10].map((seed) => randomForwardFile(generator(seed), 5));
    const batches = files.flatMap((file) => file.batches);
    const written = await writeNachaFile({ header: testFileHeader, batches });
    const text = Buffer.from(written).toString('latin1');
    const lines = text.split('\n');
    const line = 1 + lines.indexOf(lines.filter(isHeader)[1] ?? '');
    const changed = withLine(text, line, (header) => over(header, 51, entryClass));
    return { text, changed, batches, line };
  }
  const skipping = { skipsUnsupported: true };

  it.each(['TEL', 'CTX', 'IAT'])('is skipped on request: %s', async (entryClass) => {
    const { changed, batches, line } = await fileWith(entryClass);
    const { file, skipped } = await parseNachaFile(bytesOf(changed), skipping);
    expect(file?.batches).toEqual(batches.filter((_, index) => index !== 1));
    expect(skipped).toEqual([{ entryClass, line, entries: batches[1]?.entries.length }]);
    expect(await problemOf(changed)).toContain(`batches of class ${entryClass} are not supported`);
  });

  it('with addenda of its own form and number counts as its control record says', async () => {
    const { changed, batches, line } = await fileWith('CTX');
    const lines = changed.split('\n');
    const control = lines.findIndex((text, index) => index > line && text.startsWith('8'));
    const addenda = over('705'.padEnd(94), 84, '00010000001');
    const counted = (text: string, column: number, digits: number) => {
      const count = Number(text.slice(column - 1, column - 1 + digits)) + 2;
      return over(text, column, String(count).padStart(digits, '0'));
    };
    lines[control] = counted(lines[control] ?? '', 5, 6);
    const end = lines.findIndex((text) => text.startsWith('9'));
    lines[end] = counted(lines[end] ?? '', 14, 8);
    lines.splice(control, 0, addenda, addenda);
    const blocks = Math.ceil((end + 3) / 10);
    const whole = lines.slice(0, end + 3);
    whole[end + 2] = over(whole[end + 2] ?? '', 8, String(blocks).padStart(6, '0'));
    const { file, problem } = await parseNachaFile(bytesOf(whole.join('\n')), skipping);
    expect(problem).toBeNull();
    expect(file?.batches).toHaveLength(batches.length - 1);
  });

  it('does not hide that the file was altered or torn', async () => {
    const { text, changed, line } = await fileWith('TEL');
    const problems = async (other: string) => {
      const { problem } = await parseNachaFile(bytesOf(other), skipping);
      return problem === null ? null : nachaProblemText(problem);
    };
    const amount = withLine(changed, line + 1, (entry) => over(entry, 30, '0000000001'));
    expect(await problems(amount)).toMatch(/the total (debit|credit) is/);
    const torn = changed.split('\n').slice(0, line + 1);
    expect(await problems(torn.join('\n'))).toContain('the file control is missing');
    const unknown = withLine(text, line, (header) => over(header, 51, 'PPX'));
    expect(await problems(unknown)).toContain('batches of class PPX are not supported');
  });
});

describe('A file of many entries', () => {
  it('lets others run while it is written and while it is read', async () => {
    const [batch] = randomForwardFile(generator(8), 1).batches;
    const [entry] = batch?.entries ?? [];
    if (batch === undefined || entry === undefined) throw new Error('there is no entry');
    const entries = Array.from({ length: 20_000 }, (_, index) => ({
      ...entry,
      amountMinor: 0,
      transactionCode: '23' as const,
      traceNumber: traceNumberOf(batch.odfi, index),
    }));
    const file = { header: testFileHeader, batches: [{ ...batch, entries }] };

    const writing = await turnsDuring(() => writeNachaFile(file));
    expect(writing.turns).toBeGreaterThanOrEqual(10);
    const reading = await turnsDuring(() => parseNachaFile(writing.result));
    expect(reading.turns).toBeGreaterThanOrEqual(10);
    expect(reading.result.file?.batches[0]?.entries).toHaveLength(20_000);
  });
});

/** How often the event loop goes around until the work is done. */
async function turnsDuring<Result>(work: () => Promise<Result>) {
  let turns = 0;
  let isDone = false;
  const count = () => {
    if (isDone) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  const result = await work();
  isDone = true;
  return { turns, result };
}

describe('A file with altered bytes', () => {
  it('is refused with line and column, or says what it now says', async () => {
    const random = generator(20261123);
    let refused = 0;
    for (let round = 0; round < 400; round += 1) {
      const file = round % 2 === 0 ? randomForwardFile(random, 4) : randomReturnFile(random, 4);
      const bytes = Buffer.from(await writeNachaFile(file));
      for (let change = 0; change <= random(3); change += 1) alter(bytes, random);
      const { file: read, problem } = await parseNachaFile(bytes);
      if (read === null) {
        refused += 1;
        expect(problem.line).toBeGreaterThan(0);
        expect(problem.column).toBeGreaterThan(0);
        expect(problem.column).toBeLessThanOrEqual(95);
      } else {
        // What was read can be written, and reads the same again.
        expect(await parseNachaFile(await writeNachaFile(read))).toEqual({
          file: read,
          skipped: [],
          problem: null,
        });
      }
    }
    expect(refused).toBeGreaterThan(200);
  });

  it('is refused or read in little time, whatever the bytes are', async () => {
    const random = generator(20261124);
    for (let round = 0; round < 300; round += 1) {
      const bytes = Buffer.from(Array.from({ length: random(2_000) }, () => random(256)));
      const { file, problem } = await parseNachaFile(bytes);
      expect(file).toBeNull();
      expect(problem?.message).toBeTruthy();
    }
  });
});

/** Changes, removes, doubles or moves bytes, as a bad line or a bad program would. */
function alter(bytes: Buffer, random: (limit: number) => number): void {
  const at = random(bytes.length);
  switch (random(4)) {
    case 0:
      bytes[at] = random(256);
      return;
    case 1:
      bytes[at] = 0x30 + random(10);
      return;
    case 2:
      bytes.copyWithin(at, random(bytes.length), bytes.length);
      return;
    default:
      bytes.fill(0x20, at, Math.min(bytes.length, at + random(20)));
  }
}
