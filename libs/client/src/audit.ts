/** The audit log: signed checkpoints, and proofs that events are in it. */
import { iterate, type ListOptions, pageOf } from './pages.js';
import { inPath } from './paths.js';
import type { RequestOptions, Transport } from './transport.js';
import type { Page, PageQuery } from './types.js';

/** A signed statement about the whole log. `note` is a C2SP tlog-checkpoint with its signature. */
export interface Checkpoint {
  readonly treeSize: number;
  /** Base64. */
  readonly rootHash: string;
  readonly createdAt: string;
  readonly note: string;
}

/** Hashes and leaves are base64; proofs are those of RFC 6962. */
export interface PaymentProof {
  readonly checkpoint: string;
  readonly treeSize: number;
  readonly events: readonly {
    readonly index: number;
    readonly leaf: string;
    readonly proof: readonly string[];
  }[];
}

export class Audit {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** `name+hash+base64`, as C2SP signed-note writes it. */
  async verifierKey(options?: RequestOptions): Promise<string> {
    const { verifierKey } = await this.#get<{ verifierKey: string }>('/v1/audit/key', options);
    return verifierKey;
  }

  /** Newest first. */
  checkpoints(options: ListOptions = {}): AsyncIterable<Checkpoint> {
    return iterate((page, request) => this.checkpointsPage(page, request), options);
  }

  checkpointsPage(query: PageQuery = {}, options?: RequestOptions): Promise<Page<Checkpoint>> {
    return pageOf(this.#transport, '/v1/audit/checkpoints', query, options);
  }

  /** That the log of `to` events begins with the log of `from` events. Base64 hashes. */
  async consistency(
    query: { readonly from: number; readonly to: number },
    options?: RequestOptions,
  ): Promise<readonly string[]> {
    const path = '/v1/audit/consistency';
    const call = { method: 'GET', path, query: { ...query }, repeatable: true } as const;
    const { data } = await this.#transport.send<{ readonly proof: readonly string[] }>(
      call,
      options,
    );
    return data.proof;
  }

  /** Proofs of all events of a payment. May wait some seconds for a checkpoint that covers them. */
  payment(paymentId: string, options?: RequestOptions): Promise<PaymentProof> {
    return this.#get(`/v1/payments/${inPath('paymentId', paymentId)}/proof`, options);
  }

  async #get<Data>(path: string, options: RequestOptions | undefined): Promise<Data> {
    const call = { method: 'GET', path, repeatable: true } as const;
    return (await this.#transport.send<Data>(call, options)).data;
  }
}
