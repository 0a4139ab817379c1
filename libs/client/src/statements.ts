/** Operations on statements: a PDF per originator and month. */
import { pageOf } from './pages.js';
import { inPath } from './paths.js';
import type { RequestOptions, Transport } from './transport.js';
import type { Page, PageQuery, Statement, StatementFilter } from './types.js';

export class Statements {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All that pass the filter, at once: an originator has twelve a year. */
  async list(
    filter: StatementFilter = {},
    options?: RequestOptions,
  ): Promise<readonly Statement[]> {
    const query = { ...filter };
    const call = { method: 'GET', path: '/v1/statements', query, repeatable: true } as const;
    return (await this.#transport.send<readonly Statement[]>(call, options)).data;
  }

  /** Newest first. */
  page(
    query: StatementFilter & PageQuery = {},
    options?: RequestOptions,
  ): Promise<Page<Statement>> {
    return pageOf(this.#transport, '/v1/statements', query, options);
  }

  async get(statementId: string, options?: RequestOptions): Promise<Statement> {
    const call = { method: 'GET', path: pathOf(statementId), repeatable: true } as const;
    return (await this.#transport.send<Statement>(call, options)).data;
  }

  /** The document. `sizeBytes` and `sha256` of the statement show whether it is complete. */
  async pdf(statementId: string, options?: RequestOptions): Promise<Uint8Array> {
    const call = {
      method: 'GET',
      path: `${pathOf(statementId)}/pdf`,
      accept: 'application/pdf',
      repeatable: true,
    } as const;
    return (await this.#transport.send<Uint8Array>(call, options)).data;
  }
}

function pathOf(statementId: string): string {
  return `/v1/statements/${inPath('statementId', statementId)}`;
}
