/**
 * Messages over HTTPS with mutual TLS: the bank knows us by our certificate, and we know the bank by its own
 * authority alone. No certificate of the system's store is trusted.
 */
import { createSecureContext } from 'node:tls';
import { Agent, type Dispatcher, request } from 'undici';
import { BankAnswerUnclear, BankRefused, BankUnavailable } from '../bank-connection.js';
import { begunWithin } from './begun-within.js';
import {
  inboxPageMax,
  messageIdForm,
  messageMaxBytes,
  type MessageTransport,
} from './message-transport.js';
import { inboxPageFromWire, messageIdHeader, messagesPath, xmlType } from './message-wire.js';
import { Poller } from './poller.js';

export interface HttpsMessagesOptions {
  /** `https://…`; a path is kept. */
  readonly baseUrl: string;
  /** PEM: the authorities that may sign the bank's certificate. */
  readonly ca: string;
  /** PEM: our certificate, with intermediate ones, and its private key. */
  readonly certificate: string;
  readonly privateKey: string;
  /** How often the inbox is looked at while somebody listens. */
  readonly pollMs: number;
  /** Connecting, waiting for the head of the answer, and each pause in its body. */
  readonly timeoutMs?: number;
  readonly connectionsMax?: number;
}

const timeoutDefaultMs = 20_000;
/** The limit of a whole exchange, in multiples of the time limit: a slow answer may keep each pause short. */
const exchangeTimeouts = 3;
/** Half as many as there are payments at once: one that waits for a connection still ends within the limit. */
const connectionsDefaultMax = 32;
/** The inbox has its own: a slow inbox must not take the connections of messages. */
const inboxConnectionsMax = 2;
/** A full page of messages of usual size. A page of large ones must be shorter: see inboxMax. */
const answerMaxBytes = 16 * 1024 * 1024;
const inboxMax = Math.min(inboxPageMax, Math.floor(answerMaxBytes / (2 * messageMaxBytes)));

/** Statuses that say clearly that the bank has taken nothing. Any other leaves the outcome open. */
const refusals: readonly number[] = [400, 413, 415, 422];
/** Statuses that concern the bank as a whole. Any other concerns the one request. */
const absences: readonly number[] = [401, 403, 429, 502, 503, 504, 507];
/** The bank answers later. */
const laters: readonly number[] = [202, 204];

/** @throws Error when the address is not HTTPS, or certificate and key cannot be used */
export function httpsMessages(options: HttpsMessagesOptions): MessageTransport {
  return new HttpsMessages(options);
}

class HttpsMessages implements MessageTransport {
  private readonly agent: Dispatcher;
  private readonly inboxAgent: Agent;
  private readonly base: string;
  private readonly poller: Poller;
  /** The furthest cursor that somebody has read to. */
  private readTo = '';

  constructor(private readonly options: HttpsMessagesOptions) {
    const { ca, certificate, privateKey, timeoutMs = timeoutDefaultMs } = options;
    if (new URL(options.baseUrl).protocol !== 'https:')
      throw new Error('the address of a bank must begin with https://');
    assertUsable(options);
    this.base = options.baseUrl.replace(/\/+$/, '');
    const agentWith = (connections: number) =>
      new Agent({
        connections,
        connect: {
          ca,
          cert: certificate,
          key: privateKey,
          minVersion: 'TLSv1.2',
          rejectUnauthorized: true,
          timeout: timeoutMs,
        },
        allowH2: false,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        maxResponseSize: answerMaxBytes,
      });
    const messages = agentWith(options.connectionsMax ?? connectionsDefaultMax);
    this.agent = messages.compose(begunWithin(exchangeTimeouts * timeoutMs));
    this.inboxAgent = agentWith(inboxConnectionsMax);
    this.poller = new Poller(options.pollMs, async () => {
      const { messages } = await this.next();
      return messages.map(({ sequence }) => sequence);
    });
  }

  async send({ id, xml }: { id: string; xml: Uint8Array }): Promise<Uint8Array | null> {
    if (!messageIdForm.test(id)) throw new BankRefused('not the ID of a message');
    if (xml.length > messageMaxBytes)
      throw new BankRefused(`the message has ${xml.length} bytes; the limit is ${messageMaxBytes}`);
    const { status, type, body } = await this.exchange(`a message`, messagesPath, {
      method: 'POST',
      headers: { 'content-type': xmlType, [messageIdHeader]: id },
      body: xml,
    });
    if (laters.includes(status)) return null;
    const isMessage = type.split(';')[0]?.trim().toLowerCase() === xmlType;
    if (status !== 200 || !isMessage || body.length === 0 || body.length > messageMaxBytes)
      throw new BankAnswerUnclear(`the bank answered a message with ${status} and no message`);
    return body;
  }

  async inbox({ after, max }: { after: string; max: number }) {
    const page = await this.page(after, Math.min(max, inboxMax));
    this.readTo = page.cursor;
    return page;
  }

  async ping(): Promise<void> {
    await this.next();
  }

  onMessage(listener: () => void): () => void {
    return this.poller.listen(listener);
  }

  async close(): Promise<void> {
    this.poller.stop();
    // Not close(): it would wait for answers, which are requested again after a restart.
    await Promise.all([this.agent.destroy(), this.inboxAgent.destroy()]);
  }

  /** What nobody has read yet, at most one message. */
  private next() {
    return this.page(this.readTo, 1);
  }

  private async page(after: string, max: number) {
    const query = new URLSearchParams({ after, max: String(max) });
    const path = `${messagesPath}?${query.toString()}`;
    const { status, body } = await this.exchange('the inbox', path, { method: 'GET' });
    const page = status === 200 ? inboxPageFromWire(body.toString('utf8')) : null;
    if (page === null || page.messages.length > max)
      throw new BankAnswerUnclear(`the bank answered the inbox with ${status} and no page`);
    return page;
  }

  /** @param what names the request in messages: addresses hold cursors */
  private async exchange(
    what: string,
    path: string,
    outgoing: {
      readonly method: 'GET' | 'POST';
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: Uint8Array;
    },
  ): Promise<{ readonly status: number; readonly type: string; readonly body: Buffer }> {
    const { timeoutMs = timeoutDefaultMs } = this.options;
    let status: number;
    let type: string;
    let body: Buffer;
    try {
      const response = await request(this.base + path, {
        dispatcher: outgoing.method === 'GET' ? this.inboxAgent : this.agent,
        signal: AbortSignal.timeout(exchangeTimeouts * timeoutMs),
        ...outgoing,
      });
      status = response.statusCode;
      type = String(response.headers['content-type'] ?? '');
      body = Buffer.from(await response.body.arrayBuffer());
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new BankUnavailable(`no answer of the bank to ${what}: ${reason}`, { cause });
    }
    if (refusals.includes(status)) throw new BankRefused(`the bank refused ${what} with ${status}`);
    if (absences.includes(status))
      throw new BankUnavailable(`the bank answered ${what} with ${status}`);
    return { status, type, body };
  }
}

/** Now, and not at the first message. The library's own message may quote what it could not read. */
function assertUsable({ ca, certificate, privateKey }: HttpsMessagesOptions): void {
  try {
    createSecureContext({ ca, cert: certificate, key: privateKey });
  } catch {
    throw new Error('the certificates and the private key cannot be used together');
  }
  if (!ca.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error('there is no certificate of an authority');
}
