/** Operations on payments. */
import { randomUUID } from 'node:crypto';
import { iterate, type ListOptions, pageOf } from './pages.js';
import { inPath } from './paths.js';
import type { RequestOptions, Transport } from './transport.js';
import type {
  AsOf,
  Page,
  PageQuery,
  Payment,
  PaymentCreated,
  PaymentCreateRequest,
  PaymentFilter,
  PaymentListItem,
  SimulateRequest,
} from './types.js';

export interface PaymentCreateOptions extends RequestOptions {
  /**
   * 1 to 255 characters that identify this payment, for example the invoice number. Store it before the
   * call: then a process that dies can repeat the call without paying twice. Without it a random key is
   * generated, and returned with the result and with every error.
   */
  readonly idempotencyKey?: string | undefined;
}

/** As of a time before its creation the payment is NOT_FOUND. */
export interface PaymentGetOptions extends RequestOptions, Partial<AsOf> {}

export class Payments {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Safe to repeat with the same key and request: the payment is created once. */
  async create(
    request: PaymentCreateRequest,
    options: PaymentCreateOptions = {},
  ): Promise<PaymentCreated> {
    // An empty key is sent and refused: a caller that meant to set one must not get a random one.
    const idempotencyKey = options.idempotencyKey ?? randomUUID();
    const path = '/v1/payments/';
    const call = { method: 'POST', path, body: request, idempotencyKey, repeatable: true } as const;
    const { data, replayed } = await this.#transport.send<{ paymentId: string }>(call, options);
    return { paymentId: data.paymentId, idempotencyKey, replayed };
  }

  /** As it is now, or as it was at a time. */
  async get(paymentId: string, options: PaymentGetOptions = {}): Promise<Payment> {
    const { asOf, ...request } = options;
    const path = `/v1/payments/${inPath('paymentId', paymentId)}`;
    const call = { method: 'GET', path, query: { asOf }, repeatable: true } as const;
    return (await this.#transport.send<Payment>(call, request)).data;
  }

  /** All that pass the filter, newest first, a page at a time. */
  list(filter: PaymentFilter = {}, options: ListOptions = {}): AsyncIterable<PaymentListItem> {
    const fixed = { ...filter };
    return iterate((page, request) => this.page({ ...fixed, ...page }, request), options);
  }

  page(
    query: PaymentFilter & PageQuery = {},
    options?: RequestOptions,
  ): Promise<Page<PaymentListItem>> {
    return pageOf(this.#transport, '/v1/payments/', query, options);
  }
}

export class Sandbox {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Moves a payment along by hand. In production the operation does not exist: NOT_FOUND. */
  async simulate(
    paymentId: string,
    request: SimulateRequest,
    options?: RequestOptions,
  ): Promise<Payment> {
    const path = `/v1/sandbox/payments/${inPath('paymentId', paymentId)}/simulate`;
    // The second time the payment is in another status: CONFLICT, although all went well.
    const call = { method: 'POST', path, body: request, repeatable: false } as const;
    return (await this.#transport.send<Payment>(call, options)).data;
  }
}
