/**
 * Files of a bank that repeats names and account numbers, as real banks do: an acknowledgement with a message, and a
 * return. The simulated bank keeps neither, so its own files have none.
 */
import {
  type EntryOfBatch,
  groupIntoFiles,
  parseNachaFile,
  returnedEntry,
  traceNumberOf,
  writeAckFile,
  writeNachaFile,
} from '@pis/bank-rails/ach';
import { fileArchive } from '@pis/bank-rails/connections';
import { until } from '@pis/local-servers/testing';
import { keyringOf } from './living-keys.js';
import { passedSchema } from './passing-rows.js';
import type { MarkedRun } from './personal-data-run.js';

const takenLimitMs = 60_000;
/** Of the bank that answers; the simulated one counts from 0. */
const answerSequence = 9_000_000;

/** Whoever passes returns on, for many banks. */
const operator = '091000019';

/** Answers the last payment of a contact that went by ACH, and waits until both files are taken. */
export async function sendBankFiles(run: MarkedRun, tag: string): Promise<void> {
  const paymentId = run.record(tag).paymentIds.at(-1) ?? '';
  const sent = await sentFile(run, paymentId);
  const account = run.markersOf(tag).find(({ field }) => field === 'achAccountNumber')?.text ?? '';
  const original = await entryTo(sent.bytes, account);
  const { traceNumber, individualName, accountNumber } = original.entry;
  const at = new Date();
  const ack = writeAckFile({
    ...{ name: sent.name, sha256: sent.sha256, status: 'update', code: null, message: null },
    at: at.toISOString(),
    entries: [
      {
        ...{ traceNumber, status: 'accepted', code: null },
        message: `Posted to ${individualName}, account ${accountNumber.trim()}.`,
      },
    ],
  });
  await taken(run, 'ack', ack);
  await taken(run, 'returns', await returnOf(original, at));
}

interface SentFile {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** Out of the archive. */
async function sentFile({ pool, system }: MarkedRun, paymentId: string): Promise<SentFile> {
  const archive = fileArchive({ pool, keyring: keyringOf(system, pool) });
  const files = await archive.list({ paymentId, max: 20 });
  const sent = files.find(({ way, kind }) => way === 'out' && kind === 'nacha');
  if (sent === undefined) throw new Error(`no NACHA file holds ${paymentId}`);
  return { ...sent, bytes: await archive.bytes(sent.id) };
}

async function entryTo(bytes: Uint8Array, account: string): Promise<EntryOfBatch> {
  const { file } = await parseNachaFile(bytes);
  for (const { entries, ...batch } of file?.batches ?? [])
    for (const entry of entries) if (entry.accountNumber.includes(account)) return { batch, entry };
  throw new Error('the file has no such entry');
}

function returnOf(original: EntryOfBatch, at: Date): Promise<Uint8Array> {
  const { receivingDfi, traceNumber } = original.entry;
  const sequence = answerSequence + (Number(traceNumber.slice(-6)) % 100_000);
  const returned = returnedEntry(original, {
    reason: 'R03',
    traceNumber: traceNumberOf(receivingDfi.slice(0, 8), sequence),
  });
  const header = {
    immediateDestination: operator,
    immediateOrigin: operator,
    createdOn: at.toISOString().slice(0, 10),
    createdAt: at.toISOString().slice(11, 16),
    fileIdModifier: 'A',
    destinationName: 'CUSTOMER',
    originName: 'A REAL BANK',
    referenceCode: '',
  };
  const [batches = []] = groupIntoFiles([returned]);
  return writeNachaFile({ header, batches });
}

/** Puts a file into the bank's mailbox, and waits until we have it. It leaves no copy: see keepPassingRows. */
async function taken(run: MarkedRun, kind: 'ack' | 'returns', bytes: Uint8Array): Promise<void> {
  const { pool } = run;
  const client = await pool.connect();
  let id = '';
  try {
    await client.query('BEGIN');
    const { rows } = await client.query<{ id: string }>(
      'INSERT INTO bank_files (kind, bytes) VALUES ($1, $2) RETURNING id',
      [kind, bytes],
    );
    id = rows[0]?.id ?? '';
    await client.query(`DELETE FROM ${passedSchema}.bank_files WHERE id = $1`, [id]);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
  await until(
    async () => (await pool.query('SELECT FROM bank_files WHERE id = $1', [id])).rows.length === 0,
    { timeoutMs: takenLimitMs, everyMs: 100, what: `the bank's file ${id} is taken` },
  );
}
