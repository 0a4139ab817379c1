/**
 * Downloads the file of an export, range by range. What has arrived is kept in a file beside the target, so that another
 * run goes on where this one ended.
 *
 * What always holds: the target is written only when the SHA-256 of the whole file is that of the export. Both files are
 * for their owner only: they hold personal data.
 */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExportView } from '@pis/contracts';
import { CommandFailed } from '../output.js';
import { ApiAway } from '../webhooks/public-api.js';

/** The API's side of one export. Its methods throw ApiAway when another try may help. */
export interface ExportSource {
  get(): Promise<ExportView>;
  /** Exactly the bytes of the range. `end` is exclusive. */
  read(range: { readonly start: number; readonly end: number }): Promise<Uint8Array>;
}

export interface DownloadOptions {
  /** Progress and trouble, for a person. */
  readonly notice: (text: string) => void;
  readonly pause?: (ms: number) => Promise<unknown>;
}

export interface Downloaded {
  readonly exportId: string;
  readonly file: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** Of one request: it must arrive within the time limit of a request. */
const rangeMaxBytes = 4 * 1024 * 1024;
const pollEveryMs = 1_000;
/** One after the other, without an answer between them. */
const triesMax = 8;
const retryFirstMs = 500;
const retryMaxMs = 10_000;
const percent = 100;
const ownerOnly = 0o600;

/** @throws CommandFailed for an export without a file, an API that stays away, and a file that differs */
export async function downloadExport(
  source: ExportSource,
  file: string,
  options: DownloadOptions,
): Promise<Downloaded> {
  const { exportId, sizeBytes, sha256 } = await completed(source, file, options);
  // An export has its own file: bytes of two exports never mix.
  const partial = partOf(file, exportId);
  const hash = createHash('sha256');
  const handle = await open(partial, 'a', ownerOnly).catch(cannotWrite);
  try {
    // One that is there already, too.
    await handle.chmod(ownerOnly).catch(cannotWrite);
    const start = await resumed(handle, partial, { hash, sizeBytes });
    if (start > 0) options.notice(`resuming at ${start} of ${sizeBytes} bytes`);
    for (let at = start; at < sizeBytes; ) {
      const range = { start: at, end: Math.min(at + rangeMaxBytes, sizeBytes) };
      const bytes = await patiently(() => source.read(range), options);
      await handle.writeFile(bytes).catch(cannotWrite);
      hash.update(bytes);
      at = range.end;
      options.notice(`downloaded ${Math.floor((at / sizeBytes) * percent)} %`);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (hash.digest('hex') !== sha256) {
    await rm(partial, { force: true });
    throw new CommandFailed('the file differs from the SHA-256 of the export: download it again');
  }
  await rename(partial, file).catch(cannotWrite);
  return { exportId, file, sizeBytes, sha256 };
}

function partOf(file: string, exportId: string): string {
  return `${file}.${exportId}.part`;
}

/** Waits until the file is there. What an earlier run has of an export without a file is removed: nothing completes it. */
async function completed(
  source: ExportSource,
  file: string,
  options: DownloadOptions,
): Promise<ExportView & { readonly sha256: string }> {
  let told = '';
  for (;;) {
    const found = await patiently(() => source.get(), options);
    const { status, sha256, progress, reason } = found;
    if (status === 'completed' && sha256 !== null) return { ...found, sha256 };
    if (status !== 'queued' && status !== 'running') {
      await rm(partOf(file, found.exportId), { force: true }).catch(cannotWrite);
      throw new CommandFailed(`the export is ${status}${reason === null ? '' : `: ${reason}`}`);
    }
    const text = `${status}, ${Math.floor(progress * percent)} %`;
    if (text !== told) options.notice(text);
    told = text;
    await (options.pause ?? delay)(pollEveryMs);
  }
}

/** What an earlier run left. @returns where to go on */
async function resumed(
  handle: FileHandle,
  partial: string,
  { hash, sizeBytes }: { readonly hash: Hash; readonly sizeBytes: number },
): Promise<number> {
  const { size } = await handle.stat();
  if (size > sizeBytes) {
    await handle.truncate(0);
    return 0;
  }
  for await (const bytes of createReadStream(partial)) hash.update(bytes as Uint8Array);
  return size;
}

/** @throws CommandFailed when the API refuses, or stays away */
async function patiently<Result>(
  ask: () => Promise<Result>,
  { notice, pause = delay }: DownloadOptions,
): Promise<Result> {
  for (let tries = 1; ; tries += 1)
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiAway) || tries >= triesMax) throw error;
      notice(`${error.message}; trying again`);
      await pause(error.retryAfterMs ?? Math.min(retryFirstMs * 2 ** (tries - 1), retryMaxMs));
    }
}

function cannotWrite(error: unknown): never {
  throw new CommandFailed(
    `cannot write the file: ${error instanceof Error ? error.message : String(error)}`,
  );
}
