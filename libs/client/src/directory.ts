/** Operations on originators and contacts. */
import { iterate, type ListOptions, pageOf } from './pages.js';
import { inPath } from './paths.js';
import type { RequestOptions, Transport } from './transport.js';
import type {
  AsOf,
  Contact,
  ContactAsOf,
  ContactCreated,
  ContactCreateRequest,
  ContactFilter,
  ContactPatchRequest,
  Instant,
  Originator,
  OriginatorAsOf,
  OriginatorPatchRequest,
  Page,
  PageQuery,
} from './types.js';

export class Originators {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All of them, newest first, a page at a time. */
  list(options: ListOptions = {}): AsyncIterable<Originator> {
    return iterate((page, request) => this.page(page, request), options);
  }

  page(query: PageQuery = {}, options?: RequestOptions): Promise<Page<Originator>> {
    return pageOf(this.#transport, '/v1/originators/', query, options);
  }

  /** As they were at a time. */
  listAsOf(asOf: Instant, options: ListOptions = {}): AsyncIterable<OriginatorAsOf> {
    return iterate((page, request) => this.pageAsOf({ asOf, ...page }, request), options);
  }

  pageAsOf(query: AsOf & PageQuery, options?: RequestOptions): Promise<Page<OriginatorAsOf>> {
    return pageOf(this.#transport, '/v1/originators/', query, options);
  }

  async update(
    originatorId: string,
    patch: OriginatorPatchRequest,
    options?: RequestOptions,
  ): Promise<Originator> {
    const path = `/v1/originators/${inPath('originatorId', originatorId)}`;
    const call = { method: 'PATCH', path, body: patch, repeatable: true } as const;
    return (await this.#transport.send<Originator>(call, options)).data;
  }
}

export class Contacts {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * A contact that exists already is a PisApiError CONFLICT. If its `attempts` is above 1, an earlier
   * attempt of this call may have created the contact.
   */
  async create(request: ContactCreateRequest, options?: RequestOptions): Promise<ContactCreated> {
    const call = {
      method: 'POST',
      path: '/v1/contacts/',
      body: request,
      repeatable: true,
    } as const;
    return (await this.#transport.send<ContactCreated>(call, options)).data;
  }

  /** All that pass the filter, newest first, a page at a time. */
  list(filter: ContactFilter = {}, options: ListOptions = {}): AsyncIterable<Contact> {
    const fixed = { ...filter };
    return iterate((page, request) => this.page({ ...fixed, ...page }, request), options);
  }

  page(query: ContactFilter & PageQuery = {}, options?: RequestOptions): Promise<Page<Contact>> {
    return pageOf(this.#transport, '/v1/contacts/', query, options);
  }

  /** As they were at a time. */
  listAsOf(
    asOf: Instant,
    filter: ContactFilter = {},
    options: ListOptions = {},
  ): AsyncIterable<ContactAsOf> {
    const fixed = { ...filter, asOf };
    return iterate((page, request) => this.pageAsOf({ ...fixed, ...page }, request), options);
  }

  pageAsOf(
    query: AsOf & ContactFilter & PageQuery,
    options?: RequestOptions,
  ): Promise<Page<ContactAsOf>> {
    return pageOf(this.#transport, '/v1/contacts/', query, options);
  }

  async update(
    contactId: string,
    patch: ContactPatchRequest,
    options?: RequestOptions,
  ): Promise<Contact> {
    const path = `/v1/contacts/${inPath('contactId', contactId)}`;
    const call = { method: 'PATCH', path, body: patch, repeatable: true } as const;
    return (await this.#transport.send<Contact>(call, options)).data;
  }
}
