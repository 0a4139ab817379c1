import { generator } from '@pis/local-servers/testing';
import { fileOf, randomEntries } from '../../testing/nacha-files.js';
import type { ChangeCode } from './corrected-data.js';
import type { EntryOfBatch } from './nacha-batches.js';
import { isTransactionCode, traceNumberOf } from './nacha-file.js';
import { parseNachaFile } from './nacha-parser.js';
import { writeNachaFile } from './nacha-writer.js';
import { correctionEntry, correctionsIn, returnedEntry, returnsIn } from './returned-entries.js';

async function received(entries: readonly EntryOfBatch[]) {
  const { file, problem } = await parseNachaFile(await writeNachaFile(fileOf(entries)));
  if (file === null) throw new Error(problem.message);
  return file;
}

function originals(count: number): EntryOfBatch[] {
  return randomEntries(generator(7), count);
}

describe('A return file', () => {
  it('names the original entry and the reason for every reason from R01 to R85, or none', async () => {
    const reasons = Array.from({ length: 85 }, (_, i) => `R${String(i + 1).padStart(2, '0')}`);
    const all = [...reasons, null];
    const sent = originals(all.length);
    const file = await received(
      sent.map((original, index) =>
        returnedEntry(original, {
          reason: all[index] ?? null,
          traceNumber: traceNumberOf('02100002', index),
        }),
      ),
    );
    const returns = [...returnsIn(file)].sort((a, b) =>
      a.entry.traceNumber.localeCompare(b.entry.traceNumber),
    );
    expect(
      returns.map(({ addenda, entry }) => [
        addenda.originalTraceNumber,
        addenda.originalRdfi,
        addenda.reason,
        entry.amountMinor,
        entry.individualId,
      ]),
    ).toEqual(
      sent.map(({ entry }, index) => [
        entry.traceNumber,
        entry.receivingDfi.slice(0, 8),
        all[index],
        entry.amountMinor,
        entry.individualId,
      ]),
    );
    expect([...correctionsIn(file)]).toEqual([]);
  });

  it('goes back to the bank that originated the entry, with the code of a return', () => {
    const [original] = originals(1);
    if (original === undefined) throw new Error('there is no entry');
    const { batch, entry } = returnedEntry(original, {
      reason: 'R02',
      traceNumber: traceNumberOf('02100002', 9),
    });
    expect(batch.odfi).toBe('02100002');
    expect(entry.receivingDfi).toBe('091000019');
    expect(entry.transactionCode).toMatch(/^[23][16]$/);
  });

  it('has the date of death with R14 and R15, also of the last century', async () => {
    const [one, other] = originals(2);
    if (one === undefined || other === undefined) throw new Error('there are no entries');
    const file = await received([
      returnedEntry(one, {
        reason: 'R14',
        traceNumber: traceNumberOf('02100002', 1),
        dateOfDeath: '2026-11-22',
      }),
      returnedEntry(other, {
        reason: 'R15',
        traceNumber: traceNumberOf('02100002', 2),
        dateOfDeath: '1999-02-28',
      }),
    ]);
    const dates = [...returnsIn(file)].map(({ addenda }) =>
      addenda.kind === 'return' ? addenda.dateOfDeath : null,
    );
    expect(dates.sort()).toEqual(['1999-02-28', '2026-11-22']);
  });
});

describe('A notification of change', () => {
  const correction = {
    routingNumber: '021000021',
    accountNumber: '12345678901234567',
    transactionCode: '32',
    individualName: 'Jane Doe',
    individualId: 'A-1',
    text: 'FREE TEXT',
  };
  const nothing = {
    routingNumber: null,
    accountNumber: null,
    transactionCode: null,
    individualName: null,
    individualId: null,
  };
  const routingNumber = '021000021';
  const accountNumber = '12345678901234567';
  const transactionCode = '32';

  it.each<[ChangeCode, string, object]>([
    ['C01', '12345678901234567', { accountNumber }],
    ['C02', '021000021', { routingNumber }],
    ['C03', '021000021   12345678901234567', { routingNumber, accountNumber }],
    ['C04', 'Jane Doe', { individualName: 'Jane Doe' }],
    ['C05', '32', { transactionCode }],
    ['C06', '12345678901234567   32', { accountNumber, transactionCode }],
    ['C07', '0210000211234567890123456732', { routingNumber, accountNumber, transactionCode }],
    ['C09', 'A-1', { individualId: 'A-1' }],
    ['C13', 'FREE TEXT', {}],
  ])('with %s arrives with the corrected fields apart', async (changeCode, text, fields) => {
    const [original] = originals(1);
    if (original === undefined) throw new Error('there is no entry');
    const traceNumber = traceNumberOf('02100002', 3);
    const file = await received([
      correctionEntry(original, { changeCode, correction, traceNumber }),
    ]);
    const [found] = [...correctionsIn(file)];
    expect(found?.addenda).toEqual({
      kind: 'correction',
      changeCode,
      originalTraceNumber: original.entry.traceNumber,
      originalRdfi: original.entry.receivingDfi.slice(0, 8),
      corrected: { ...nothing, ...fields, text },
    });
    expect(found?.entry.amountMinor).toBe(0);
    expect(found?.batch.standardEntryClass).toBe('COR');
    expect([...returnsIn(file)]).toEqual([]);
  });

  it('keeps a text that is not laid out as its change code says, and takes no field from it', async () => {
    const [original] = originals(1);
    if (original === undefined) throw new Error('there is no entry');
    const file = await received([
      correctionEntry(original, {
        changeCode: 'C02',
        correction: { routingNumber: 'UNKNOWN' },
        traceNumber: traceNumberOf('02100002', 4),
      }),
    ]);
    const [found] = [...correctionsIn(file)];
    expect(found?.addenda.corrected).toEqual({ ...nothing, text: 'UNKNOWN' });
    expect(isTransactionCode('UN')).toBe(false);
  });
});
