/** Downloads of exports whose connection breaks, without a network. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { ExportView } from '@pis/contracts';
import { ApiAway } from '../webhooks/public-api.js';
import { downloadExport, type ExportSource } from './download.js';

const rangeBytes = 4 * 1024 * 1024;
const bytes = randomBytes(2 * rangeBytes + 7);
const exportId = randomUUID();
const sha256 = createHash('sha256').update(bytes).digest('hex');

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-download-'));
  file = path.join(folder, 'payments.csv');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const complete: ExportView = {
  ...{ exportId, status: 'completed', kind: 'payments', format: 'csv', from: null, to: null },
  ...{ originatorId: null, rows: 1, sizeBytes: bytes.length, sha256, progress: 1, reason: null },
  ...{ createdAt: '2026-11-23T00:00:00.000Z', startedAt: null, finishedAt: null, expiresAt: null },
};

/** The export as the API has it. Each `'away'` is a request without an answer, at its place among the ranges. */
function api(changes: Partial<ExportView> = {}, away: readonly number[] = []) {
  const starts: number[] = [];
  let asked = 0;
  const source: ExportSource = {
    get: () => Promise.resolve({ ...complete, ...changes }),
    read({ start, end }) {
      asked += 1;
      if (away.includes(asked)) return Promise.reject(new ApiAway('no answer', null));
      starts.push(start);
      return Promise.resolve(bytes.subarray(start, end));
    },
  };
  return { source, starts };
}

const notices: string[] = [];
const options = {
  notice: (text: string) => void notices.push(text),
  pause: () => Promise.resolve(),
};
beforeEach(() => void notices.splice(0));

it('asks again for a range that broke off, and writes the file once it is whole', async () => {
  const { source, starts } = api({}, [2, 3]);
  const done = await downloadExport(source, file, options);
  expect(done).toEqual({ exportId, file, sizeBytes: bytes.length, sha256 });
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(starts).toEqual([0, rangeBytes, 2 * rangeBytes]);
  expect(readdirSync(folder)).toEqual(['payments.csv']);
  expect(notices).toContain('downloaded 100 %');
});

it('goes on in another run where the last one ended', async () => {
  const first = api({}, [2, 3, 4, 5, 6, 7, 8, 9]);
  await expect(downloadExport(first.source, file, options)).rejects.toThrow('no answer');
  expect(existsSync(file)).toBe(false);
  const second = api();
  await downloadExport(second.source, file, options);
  expect(second.starts).toEqual([rangeBytes, 2 * rangeBytes]);
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

it('does not give a file whose bytes are not those of the export, and begins anew after it', async () => {
  writeFileSync(`${file}.${exportId}.part`, 'altered');
  await expect(downloadExport(api().source, file, options)).rejects.toThrow(/differs/);
  expect(readdirSync(folder)).toEqual([]);
  await downloadExport(api().source, file, options);
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

it('waits for an export that is being written, and says how far it is', async () => {
  const { source } = api();
  const states: Partial<ExportView>[] = [
    { status: 'queued', progress: 0, sha256: null },
    { status: 'running', progress: 0.5, sha256: null },
  ];
  const get = () => Promise.resolve({ ...complete, ...states.shift() });
  await downloadExport({ ...source, get }, file, options);
  expect(notices.slice(0, 2)).toEqual(['queued, 0 %', 'running, 50 %']);
});

it('keeps both files to their owner, also one that an earlier release began', async () => {
  const modeOf = (name: string) => statSync(name).mode & 0o777;
  const partial = `${file}.${exportId}.part`;
  writeFileSync(partial, '', { mode: 0o644 });
  const { source } = api();
  const read: ExportSource['read'] = (range) => {
    expect(modeOf(partial)).toBe(0o600);
    return source.read(range);
  };
  await downloadExport({ ...source, read }, file, options);
  expect(modeOf(file)).toBe(0o600);
  rmSync(file);
  await downloadExport(source, file, options);
  expect(modeOf(file)).toBe(0o600);
});

it.each(['failed', 'canceled', 'expired'] as const)(
  'removes what it has of an export that is %s',
  async (status) => {
    const broken = api({}, [2, 3, 4, 5, 6, 7, 8, 9]);
    await expect(downloadExport(broken.source, file, options)).rejects.toThrow('no answer');
    expect(readdirSync(folder)).toHaveLength(1);
    const { source } = api({ status, sha256: null });
    await expect(downloadExport(source, file, options)).rejects.toThrow(status);
    expect(readdirSync(folder)).toEqual([]);
  },
);

it('says why there is no file', async () => {
  const { source } = api({ status: 'failed', reason: 'choose a shorter time', sha256: null });
  await expect(downloadExport(source, file, options)).rejects.toThrow(
    'the export is failed: choose a shorter time',
  );
  expect(readdirSync(folder)).toEqual([]);
});
