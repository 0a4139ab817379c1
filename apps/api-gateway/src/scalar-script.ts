/**
 * The script of the page /docs, nearly 4 MB, compressed by the build (build-assets.mjs). It is read at the
 * first request, so it costs nothing until somebody opens the page.
 *
 * All readers share the same bytes, so slow readers cost no memory.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

export interface Script {
  readonly gzipped: Buffer;
  readonly etag: string;
}

/** The same file from the sources and from the build: `src` and `dist` are siblings. */
export const builtScript = new URL('../dist/scalar.js.gz', import.meta.url);

export class ScalarScript {
  private script: Script | undefined;
  private inflated: Promise<Buffer> | undefined;

  /** @param file injected by tests */
  constructor(private readonly file = builtScript) {}

  /** @throws when there is no such file */
  read(): Script {
    this.script ??= readScript(this.file);
    return this.script;
  }

  /** For clients without gzip. Inflated once, for the first of them. @throws as read */
  plain(): Promise<Buffer> {
    const { gzipped } = this.read();
    this.inflated ??= promisify(gunzip)(gzipped);
    return this.inflated;
  }
}

function readScript(file: URL): Script {
  const gzipped = readFileSync(file);
  return { gzipped, etag: `"${hash('sha256', gzipped, 'base64url')}"` };
}
