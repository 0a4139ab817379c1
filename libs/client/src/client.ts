import { Audit } from './audit.js';
import { Contacts, Originators } from './directory.js';
import { Exports } from './exports.js';
import { Payments, Sandbox } from './payments.js';
import { Rails } from './rails.js';
import { Statements } from './statements.js';
import { type PisClientOptions, Transport } from './transport.js';
import { Events, Webhooks } from './webhooks.js';

/**
 * A client of one service with one API key.
 *
 *     const client = new PisClient({ baseUrl, apiKey });
 *     const { paymentId } = await client.payments.create(request, { idempotencyKey });
 *
 * Every operation rejects with a PisRequestError: PisApiError, PisNetworkError, PisTimeoutError or
 * PisAbortError.
 */
export class PisClient {
  readonly originators: Originators;
  readonly contacts: Contacts;
  readonly payments: Payments;
  readonly rails: Rails;
  readonly webhooks: Webhooks;
  readonly events: Events;
  readonly statements: Statements;
  readonly exports: Exports;
  readonly audit: Audit;
  readonly sandbox: Sandbox;

  /** @throws TypeError, RangeError when an option is invalid */
  constructor(options: PisClientOptions) {
    const transport = new Transport(options);
    this.originators = new Originators(transport);
    this.contacts = new Contacts(transport);
    this.payments = new Payments(transport);
    this.rails = new Rails(transport);
    this.webhooks = new Webhooks(transport);
    this.events = new Events(transport);
    this.statements = new Statements(transport);
    this.exports = new Exports(transport);
    this.audit = new Audit(transport);
    this.sandbox = new Sandbox(transport);
  }
}
