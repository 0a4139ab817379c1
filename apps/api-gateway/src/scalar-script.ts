/**
 * The script of the page /docs. Its package holds it as one string of nearly 4 MB. A short process takes
 * it out and compresses it at the first request: a gateway whose reference nobody reads pays nothing.
 * A thread in this process would have left 60 MB behind.
 *
 * All readers share the same bytes. An answer copies nothing, so slow readers cost no memory.
 */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

export interface Script {
  readonly gzipped: Buffer;
  readonly etag: string;
}

// Beside this file, and like it: TypeScript in the tests, which Node strips, JavaScript elsewhere.
const extract = fileURLToPath(
  new URL(`./scalar-script.extract${path.extname(import.meta.url)}`, import.meta.url),
);
const timeoutMs = 30_000;
const bytesMax = 16 * 1024 * 1024;

export class ScalarScript {
  private reading: Promise<Script> | undefined;
  private inflating: Promise<Buffer> | undefined;

  /** `file` is run to write the script; injected by tests. */
  constructor(private readonly file = extract) {}

  /** @throws when it cannot be had; the next call tries again */
  read(): Promise<Script> {
    this.reading ??= readScript(this.file).catch((error: unknown) => {
      this.reading = undefined;
      throw error;
    });
    return this.reading;
  }

  /** For clients that take no gzip: inflated once, at the first of them. @throws as read */
  plain(): Promise<Buffer> {
    this.inflating ??= this.read()
      .then(({ gzipped }) => promisify(gunzip)(gzipped))
      .catch((error: unknown) => {
        this.inflating = undefined;
        throw error;
      });
    return this.inflating;
  }
}

async function readScript(file: string): Promise<Script> {
  const { stdout: gzipped } = await promisify(execFile)(process.execPath, [file], {
    encoding: 'buffer',
    maxBuffer: bytesMax,
    timeout: timeoutMs,
    // A third party's code runs there: it gets none of our settings.
    env: {},
  });
  return { gzipped, etag: `"${hash('sha256', gzipped, 'base64url')}"` };
}
