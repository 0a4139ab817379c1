/**
 * Loads over NACHA files: payments into one file and back from a file that returns all of them, and, each in a process of its
 * own so that its memory can be told, writing and reading a file. They answer with the time of each step, the process's
 * peak memory, and the longest time for which the event loop was blocked.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import {
  groupIntoFiles,
  nachaProblemText,
  parseNachaFile,
  returnedEntry,
  returnsIn,
  traceNumberOf,
  withCheckDigit,
  writeNachaFile,
} from '@pis/bank-rails/ach';

const odfi = '09100001';
const header = {
  immediateDestination: withCheckDigit(odfi),
  immediateOrigin: '1234567890',
  createdOn: '2026-11-23',
  createdAt: '09:00',
  fileIdModifier: 'A',
  destinationName: 'BENCH BANK',
  originName: 'BENCH',
  referenceCode: '',
};
const bytesPerMb = 1024 * 1024;
const nsPerMs = 1e6;

const loads = { roundTrip, write, read };

process.once('message', async ({ load, ...task }) => {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const steps = {};
  const step = async (name, work) => {
    const startMs = performance.now();
    const result = await work();
    steps[name] = performance.now() - startMs;
    return result;
  };
  const result = await loads[load](task, step, delay);
  process.send({
    ...result,
    ...steps,
    blockedMaxMs: delay.max / nsPerMs,
    // In kilobytes, on every platform.
    peakRssMb: process.resourceUsage().maxRSS / 1024,
  });
  process.disconnect();
});

async function roundTrip({ entries }, step, delay) {
  const payments = [...paymentsOf(entries)];
  delay.enable();
  const sent = await step('writeMs', () => writeNachaFile(oneFile(payments)));
  const received = await step('parseMs', () => parsed(sent));
  const returned = await step('writeReturnsMs', () => writeNachaFile(oneFile(returnsOf(received))));
  const matched = await step('parseReturnsMs', async () => {
    const originals = new Set(payments.map(({ entry }) => entry.traceNumber));
    for (const { addenda } of returnsIn(await parsed(returned)))
      originals.delete(addenda.originalTraceNumber);
    return entries - originals.size;
  });
  if (matched !== entries) throw new Error(`${matched} of ${entries} came back`);
  return { entries, fileMb: sent.length / bytesPerMb };
}

async function write({ entries, path }, step, delay) {
  delay.enable();
  const bytes = await step('writeMs', () => writeNachaFile(oneFile(paymentsOf(entries))));
  writeFileSync(path, bytes);
  return { entries, fileMb: bytes.length / bytesPerMb };
}

async function read({ path }, step, delay) {
  const bytes = readFileSync(path);
  delay.enable();
  const { batches } = await step('parseMs', () => parsed(bytes));
  return { entries: batches.reduce((sum, batch) => sum + batch.entries.length, 0) };
}

function* paymentsOf(count) {
  for (let index = 0; index < count; index += 1) yield paymentOf(index);
}

function oneFile(items) {
  const [batches, ...others] = groupIntoFiles(items);
  if (batches === undefined || others.length > 0) throw new Error('that is not one file');
  return { header, batches };
}

async function parsed(bytes) {
  const { file, problem } = await parseNachaFile(bytes);
  if (file === null) throw new Error(nachaProblemText(problem));
  return file;
}

/** Ten companies, debits and credits, some with addenda. */
function paymentOf(index) {
  return {
    batch: {
      standardEntryClass: 'PPD',
      companyName: `COMPANY ${index % 10}`,
      companyId: `1${String(index % 10).padStart(9, '0')}`,
      companyDiscretionaryData: '',
      entryDescription: 'PAYMENT',
      descriptiveDate: '',
      effectiveDate: '2026-11-24',
      settlementDay: null,
      odfi,
    },
    entry: {
      transactionCode: index % 3 === 0 ? '27' : '22',
      receivingDfi: withCheckDigit(`0${String(1_000_000 + (index % 9_000_000))}`),
      accountNumber: String(100_000_000 + index),
      amountMinor: 100 + (index % 1_000_000),
      individualId: `P${String(index).padStart(14, '0')}`,
      individualName: `Receiver ${index}`,
      discretionaryData: '',
      addenda: index % 4 === 0 ? { kind: 'payment', information: `Invoice ${index}` } : null,
      traceNumber: traceNumberOf(odfi, index),
    },
  };
}

function returnsOf({ batches }) {
  let sequence = 0;
  return batches.flatMap(({ entries, ...batch }) =>
    entries.map((entry) => {
      sequence += 1;
      const traceNumber = traceNumberOf('02100002', sequence);
      return returnedEntry({ batch, entry }, { reason: 'R01', traceNumber });
    }),
  );
}
