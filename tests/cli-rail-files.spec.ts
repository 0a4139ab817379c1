/** `pis rails files`: what went to banks and came from them, with exact bytes. */
import { createHash, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { writeAckFile } from '@pis/bank-rails/ach';
import { fileArchive } from '@pis/bank-rails/connections';
import type { Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { type CliDatabase, cliDatabase } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;

let keyring: Keyring;
let cli: CliDatabase;
beforeAll(async () => {
  // The key of the keyring of tests.
  cli = await cliDatabase(Buffer.alloc(32, 7));
  keyring = await testKeyringOn(cli.pool);
});
afterAll(() => cli?.end());

const json = (...args: string[]) => pisJson<unknown>(['rails', 'files', ...args], cli.environment);
const plain = (...args: string[]) => pis(['rails', 'files', ...args], cli.environment);

async function keepFile(name: string, content: string) {
  const [contactId, paymentId] = [randomUUID(), randomUUID()];
  const segments = [
    { bytes: Buffer.from('101 header\n'), owner: null, paymentId: null },
    { bytes: Buffer.from(content), owner: `contact:${contactId}` as const, paymentId },
  ];
  const file = { connection: 'bank', rail: 'ACH', way: 'out', kind: 'nacha', name } as const;
  const { id } = await fileArchive({ pool: cli.pool, keyring }).keep({ ...file, segments });
  return { id, contactId, paymentId, text: `101 header\n${content}` };
}

it('lists the files of a payment, and shows the exact bytes of one, recorded', async () => {
  const ada = await keepFile('a.ach', '622 99887766554433 Ada\r\n');
  const bob = await keepFile('b.ach', '622 1 Bob\r\n');
  const listed = ({ id, text }: typeof ada, name: string) => ({
    ...{ id, rail: 'ACH', way: 'out', kind: 'nacha', name },
    sha256: createHash('sha256').update(text).digest('hex'),
    sizeBytes: text.length,
    createdAt: isoTime,
  });
  const both = [listed(bob, 'b.ach'), listed(ada, 'a.ach')];
  expect(await json('list')).toEqual({ data: both });
  expect(await json('list', '--after', bob.id)).toEqual({ data: both.slice(1) });
  expect(await json('list', '--payment', ada.paymentId)).toEqual({ data: both.slice(1) });
  expect(await json('list', '--payment', randomUUID())).toEqual({ data: [] });

  const shown = await plain('show', '--id', ada.id, '--actor', 'ada', '--reason', 'case 7');
  expect(shown).toMatchObject({ code: 0, stdout: ada.text, stderr: '' });
  expect(await json('show', '--id', ada.id)).toMatchObject({
    ...listed(ada, 'a.ach'),
    erasedBytes: 0,
    bytes: Buffer.from(ada.text).toString('base64'),
  });
  const { rows } = await cli.pool.query(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted' ORDER BY position LIMIT 1`,
  );
  expect(rows).toMatchObject([
    {
      data: {
        action: 'rails files show',
        subject: { fileId: ada.id },
        actor: 'ada',
        reason: 'case 7',
      },
    },
  ]);
});

it('shows spaces in place of what was erased, and says so', async () => {
  const { id, contactId } = await keepFile('c.ach', '622 Cy\n');
  await keyring.destroy([`contact:${contactId}`]);
  const { code, stdout, stderr } = await plain('show', '--id', id);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '101 header\n       ' });
  expect(stderr).toContain('7 bytes were erased');
});

it('applies a file of the bank again, recorded, and says why it cannot', async () => {
  const bytes = writeAckFile({
    ...{ name: 'ours.ach', sha256: 'a'.repeat(64), status: 'accepted', code: null, message: null },
    ...{ at: '2026-11-24T15:00:00.000Z', entries: [] },
  });
  const keep = async (name: string, content: Uint8Array) => {
    const file = { connection: 'bank', rail: 'ACH', way: 'in', kind: 'unreadable', name } as const;
    const segments = [{ bytes: content, owner: null, paymentId: null }];
    return (await fileArchive({ pool: cli.pool, keyring }).keep({ ...file, segments })).id;
  };
  const ack = await keep('ack.jsonl', bytes);
  const applied = await json('apply', '--id', ack, '--reason', 'release 2 reads it');
  // The acknowledgement is about no file of ours: staff are told.
  expect(applied).toEqual({ fileId: ack, name: 'ack.jsonl', kind: 'ack', reports: 1 });
  const { rows } = await cli.pool.query(
    `SELECT data->>'action' AS action, data->>'reason' AS reason FROM events
      WHERE type = 'OperatorActionStarted' ORDER BY position DESC LIMIT 1`,
  );
  expect(rows).toEqual([{ action: 'rails files apply', reason: 'release 2 reads it' }]);
  expectRefusal(
    await plain('apply', '--id', await keep('junk.txt', Buffer.from('hello'))),
    /cannot be read/,
  );
  expectRefusal(await plain('apply', '--id', randomUUID()), /no file has this ID/);
});

it('forgets files that are older than the retention period, and no others', async () => {
  const old = await keepFile('old.ach', 'old\n');
  await cli.pool.query(
    `UPDATE rail_files SET created_at = now() - interval '8 years' WHERE id = $1`,
    [old.id],
  );
  const year = new Date().getUTCFullYear();
  expectRefusal(await plain('forget', '--before', `${year - 6}-01-01`), /PIS_RETENTION_YEARS/);
  expectRefusal(await plain('forget', '--before', 'yesterday'), /not a day/);
  expectRefusal(await plain('forget'), /either --before or --id/);
  expect(await json('forget', '--before', `${year - 7}-01-01`)).toEqual({ forgotten: 1 });
  expectRefusal(await plain('show', '--id', old.id), /no file has this ID/);
});

it('keeps an old file that may still be sent, and says so', async () => {
  const { id } = await keepFile('waiting.ach', 'waiting\n');
  await cli.pool.query(
    `UPDATE rail_files SET created_at = now() - interval '8 years' WHERE id = $1`,
    [id],
  );
  await cli.pool.query(
    `INSERT INTO ach_files (bank, name, archive_id, sha256, entries, created_at, upload_due_at, settles_on)
     VALUES ('bank', 'waiting.ach', $1, '', 1, now(), now(), now())`,
    [id],
  );
  const year = new Date().getUTCFullYear();
  const { code, stderr } = await plain('forget', '--before', `${year - 7}-01-01`);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('1 files are kept') as string,
  });
  expect(await plain('show', '--id', id)).toMatchObject({ code: 0 });
});

it('destroys the parts of one file that may speak of anybody, and no others', async () => {
  const ada = await keepFile('d.ach', '622 Ada\n');
  const { id } = await fileArchive({ pool: cli.pool, keyring }).keep({
    ...({ connection: 'bank', rail: 'ACH', way: 'in', kind: 'unreadable', name: 'x' } as const),
    segments: [{ bytes: Buffer.from('Ada?'), owner: 'file', paymentId: null }],
  });
  expect(await json('forget', '--id', id, '--reason', 'case 8')).toEqual({ fileId: id });
  expect(await plain('show', '--id', id)).toMatchObject({ code: 0, stdout: '    ' });
  expectRefusal(await plain('forget', '--id', ada.id), /may speak of anybody/);
  expectRefusal(await plain('forget', '--id', id, '--before', '2019-01-01'), /not both/);
});

it('refuses an ID that is none, without repeating it', async () => {
  expectRefusal(await plain('show', '--id', 'pis_test_secret'), /--id is not a UUID/);
  expectRefusal(await plain('list', '--payment', 'x'), /--payment is not a UUID/);
});
