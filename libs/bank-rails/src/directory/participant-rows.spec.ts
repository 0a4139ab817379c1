import { generator } from '@pis/local-servers/testing';
import { chunksOf, routingNumberAt, rowOf } from '../testing/participant-lists.js';
import { type Line, lineBytesMax, linesMax, linesOf } from './participant-lines.js';
import { rowReaderOf } from './participant-rows.js';
import { type DirectoryKind, directoryKinds } from './routing-directory.js';
import { isValidAbaRoutingNumber } from '../routing-number.js';
import { RowRefused } from './row-refused.js';
import { sandboxDirectory, sandboxEntries } from './sandbox-directory.js';

const bank = { routingNumber: '021000021', name: 'FIRST, "BEST" BANK' };

/** What is wrong with a row, as `column: problem`. */
function problemOf(kind: DirectoryKind, ...rows: readonly (string | Uint8Array)[]): string {
  const read = rowReaderOf(kind);
  try {
    for (const row of rows) read(Buffer.from(row));
    return 'nothing';
  } catch (error) {
    if (!(error instanceof RowRefused)) throw error;
    return `${error.column}: ${error.problem}`;
  }
}

const header = 'routing_number,name,receives';

describe('a row of a participant list', () => {
  it.each(directoryKinds)(
    'of %s has the number, the name and whether the bank takes part',
    (kind) => {
      const read = rowReaderOf(kind);
      if (kind === 'rtp' || kind === 'fednow') expect(read(Buffer.from(header))).toBeNull();
      expect(read(Buffer.from(rowOf(kind, bank)))).toEqual({
        routingNumber: '021000021',
        bankName: 'FIRST, "BEST" BANK',
        takesPart: true,
      });
      if (kind !== 'fedach')
        expect(read(Buffer.from(rowOf(kind, { ...bank, takesPart: false })))?.takesPart).toBe(
          false,
        );
    },
  );

  it('of Fedwire does not take part when it only settles', () => {
    const row = rowOf('fedwire', bank);
    const settles = `${row.slice(0, 91)}S${row.slice(92)}`;
    expect(rowReaderOf('fedwire')(Buffer.from(settles))?.takesPart).toBe(false);
  });

  it('may lack the spaces at its end', () => {
    expect(problemOf('fedach', rowOf('fedach', bank).trimEnd())).toBe('nothing');
    expect(problemOf('fedwire', rowOf('fedwire', bank).slice(0, 93))).toBe('nothing');
  });

  it('of a CSV list may have its columns in another order, and others', () => {
    const read = rowReaderOf('rtp');
    read(Buffer.from('\ufeffCity, Name ,ROUTING_NUMBER'));
    expect(read(Buffer.from('Köln,Bank,021000021'))).toEqual({
      routingNumber: '021000021',
      bankName: 'Bank',
      takesPart: true,
    });
  });

  const ach = rowOf('fedach', bank);
  const wire = rowOf('fedwire', bank);
  const put = (row: string, column: number, text: string) =>
    row.slice(0, column - 1) + text + row.slice(column - 1 + text.length);
  it.each<[string, DirectoryKind, readonly (string | Uint8Array)[], string]>([
    ['a wrong checksum', 'fedach', [put(ach, 9, '2')], '1: not a valid routing number'],
    ['letters', 'fedwire', [put(wire, 1, 'ABC')], '1: not a valid routing number'],
    ['an unknown office', 'fedach', [put(ach, 10, 'X')], '10: the office code is not one of O, B'],
    [
      'an unknown record',
      'fedach',
      [put(ach, 20, '7')],
      '20: the record type is not one of 0, 1, 2',
    ],
    ['no name', 'fedach', [put(ach, 36, ' '.repeat(36))], '36: the name is blank'],
    ['a cut line', 'fedach', [ach.slice(0, 149)], '150: the row has 149 columns, not 155'],
    ['a long line', 'fedwire', [`${wire}1`], '102: the row has 102 columns, not 101'],
    ['a tab', 'fedach', [put(ach, 40, '\t')], '40: not a printable ASCII character'],
    ['a null byte', 'fedwire', [put(wire, 1, '\0')], '1: not a printable ASCII character'],
    ['another alphabet', 'fedach', [put(ach, 37, 'é')], '37: not a printable ASCII character'],
    [
      'no status',
      'fedwire',
      [put(wire, 91, ' ')],
      '91: the funds transfer status is not one of Y, N',
    ],
    [
      'a wrong status',
      'fedwire',
      [put(wire, 92, 'X')],
      '92: the settlement-only status is not one of S, blank',
    ],
    ['an empty line', 'fedach', [''], '1: the row has 0 columns, not 155'],
    ['no number', 'rtp', [header, 'x,Bank,Y'], '1: not a valid routing number'],
    [
      'a blank name',
      'rtp',
      [header, '021000021, ,Y'],
      '11: the name does not have 1 to 200 characters',
    ],
    ['a wrong answer', 'fednow', [header, '021000021,Bank,yes'], '16: receives is not Y or N'],
    ['a missing field', 'fednow', [header, '021000021,Bank'], '15: receives is not Y or N'],
    ['an open quote', 'rtp', [header, '021000021,"Bank,Y'], '11: the quotation mark is not closed'],
    ['a quote inside', 'rtp', [header, '021000021,Ba"nk,Y'], '13: a quotation mark inside a field'],
    [
      'text behind a quote',
      'rtp',
      [header, '021000021,"Bank"s,Y'],
      '17: a comma is missing behind the quotation mark',
    ],
    ['a control character', 'rtp', [header, '021000021,Ba\u0007nk,Y'], '13: a control character'],
    [
      'bytes that are not text',
      'rtp',
      [header, Buffer.from([0x30, 0x32, 0xff, 0x31])],
      '3: not a UTF-8 character',
    ],
  ])('with %s is refused', (_what, kind, rows, problem) => {
    expect(problemOf(kind, ...rows)).toBe(problem);
  });

  it('of any bytes is read or refused, and never anything else', () => {
    const random = generator(7);
    for (let count = 0; count < 5_000; count += 1) {
      const kind = directoryKinds[count % directoryKinds.length] ?? 'rtp';
      const bytes = Buffer.from(rowOf(kind, bank));
      for (let changes = random(4); changes >= 0; changes -= 1)
        bytes[random(bytes.length)] = random(256);
      const rows = kind === 'rtp' || kind === 'fednow' ? [header, bytes] : [bytes];
      expect(problemOf(kind, ...rows)).toMatch(/^(nothing|\d+: .+)$/);
    }
  });
});

async function read(content: string | Uint8Array, chunkBytes?: number): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const line of linesOf(chunksOf(content, chunkBytes))) lines.push(line);
  return lines;
}

describe('the lines of a file', () => {
  it.each([1, 2, 3, 7, 4_096])('are the same in chunks of %i bytes', async (chunkBytes) => {
    const lines = await read('one\r\ntwo\n\nfour\n\n\n', chunkBytes);
    expect(lines.map(({ number, bytes }) => [number, Buffer.from(bytes).toString()])).toEqual([
      [1, 'one'],
      [2, 'two'],
      [3, ''],
      [4, 'four'],
    ]);
  });

  it('may end without a line break', async () => {
    expect(await read('one\ntwo')).toHaveLength(2);
    expect(await read('')).toHaveLength(0);
  });

  it('are refused when one is too long, before it is in memory', async () => {
    const endless = async function* () {
      for (;;) yield await Promise.resolve(Buffer.alloc(100, 'x'));
    };
    const lines = linesOf(endless());
    await expect(lines.next()).rejects.toThrow(`line 1, column ${lineBytesMax + 1}`);
    await expect(read(`ok\n${'x'.repeat(lineBytesMax + 1)}\n`)).rejects.toThrow('line 2, column');
  });

  it('are refused when there are too many', async () => {
    await expect(read('x\n'.repeat(linesMax + 1), 65_536)).rejects.toThrow('more than');
  });
});

describe('the directory of the sandbox', () => {
  it('has valid numbers only, and every kind of bank', async () => {
    const invalid = [...sandboxEntries.keys()].filter((number) => !isValidAbaRoutingNumber(number));
    expect(invalid).toEqual([]);
    const rails = async (number: string) => (await sandboxDirectory.find(number))?.rails.join(' ');
    expect(await rails('021000021')).toBe('ACH RTP FEDNOW FEDWIRE');
    expect(await rails('026009593')).toBe('ACH RTP FEDWIRE');
    expect(await rails('121000248')).toBe('ACH FEDNOW FEDWIRE');
    expect(await rails('322271627')).toBe('ACH FEDWIRE');
    expect(await rails('011401533')).toBe('ACH');
    expect(await rails('110000000')).toBe('ACH RTP');
    expect(await rails('101050001')).toBe('ACH FEDNOW');
  });

  it('does not know other numbers', async () => {
    expect(await sandboxDirectory.find('061000146')).toBeNull();
    expect(await sandboxDirectory.find('toString')).toBeNull();
  });

  it('makes up different numbers for tests', () => {
    const made = Array.from({ length: 500 }, (_, index) => routingNumberAt(index));
    expect(made.every(isValidAbaRoutingNumber)).toBe(true);
    expect(new Set(made).size).toBe(500);
  });
});
