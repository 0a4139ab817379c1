/** Operations on exports: files of records that the service writes in the background. */
import type { Export, ExportCreated, ExportCreateRequest, ExportFormat } from './export-types.js';
import { iterate, type ListOptions, pageOf } from './pages.js';
import { inPath } from './paths.js';
import type { Call, RequestOptions, Transport } from './transport.js';
import type { Page, PageQuery } from './types.js';

const mediaTypes: Readonly<Record<ExportFormat, NonNullable<Call['accept']>>> = {
  csv: 'text/csv',
  jsonl: 'application/jsonl',
  bai2: 'text/plain',
  camt053: 'application/xml',
};
/** Of a file, in one request. */
const partBytes = 8 * 1024 * 1024;

export class Exports {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Begins an export. Not repeated after a lost answer: that could begin a second one. */
  async create(request: ExportCreateRequest, options?: RequestOptions): Promise<ExportCreated> {
    const call = { method: 'POST', path: '/v1/exports', body: request, repeatable: false } as const;
    return (await this.#transport.send<ExportCreated>(call, options)).data;
  }

  async get(exportId: string, options?: RequestOptions): Promise<Export> {
    const call = { method: 'GET', path: pathOf(exportId), repeatable: true } as const;
    return (await this.#transport.send<Export>(call, options)).data;
  }

  /** Newest first, a page at a time. */
  list(options: ListOptions = {}): AsyncIterable<Export> {
    return iterate((page, request) => this.page(page, request), options);
  }

  page(query: PageQuery = {}, options?: RequestOptions): Promise<Page<Export>> {
    return pageOf(this.#transport, '/v1/exports', query, options);
  }

  /** Ends an export and deletes its file. */
  async cancel(exportId: string, options?: RequestOptions): Promise<Export> {
    const path = `${pathOf(exportId)}/cancel`;
    const call = { method: 'POST', path, repeatable: true } as const;
    return (await this.#transport.send<Export>(call, options)).data;
  }

  /**
   * The file of a completed export, part by part, so that a file of any size takes little memory. A part that breaks
   * off is requested again. `sizeBytes` and `sha256` of the export show whether the file is complete.
   */
  download(
    { exportId, format, sizeBytes }: Pick<Export, 'exportId' | 'format' | 'sizeBytes'>,
    options?: RequestOptions,
  ): AsyncIterable<Uint8Array> {
    const path = `${pathOf(exportId)}/file`;
    const transport = this.#transport;
    async function* parts(): AsyncGenerator<Uint8Array, void, undefined> {
      for (let start = 0; start < sizeBytes; start += partBytes) {
        const last = Math.min(start + partBytes, sizeBytes) - 1;
        const range = `bytes=${start}-${last}`;
        const accept = mediaTypes[format];
        const call = { method: 'GET', path, accept, range, repeatable: true } as const;
        yield (await transport.send<Uint8Array>(call, options)).data;
      }
    }
    return { [Symbol.asyncIterator]: parts };
  }
}

function pathOf(exportId: string): string {
  return `/v1/exports/${inPath('exportId', exportId)}`;
}
