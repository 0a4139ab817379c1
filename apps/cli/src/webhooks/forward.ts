/**
 * Sends an event to a developer's own server as the service sends it to an endpoint: the same headers,
 * the same bytes, signed. Unlike there, plain HTTP is fine, and so is an address that is not public.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { deliveryHeaders, stampedBody } from '@pis/webhooks';
import { v5 as uuidOf } from 'uuid';
import { describe } from '../output.js';
import { within } from './within.js';

export interface ForwardTarget {
  readonly url: URL;
  readonly secret: string;
}

export interface Forwarded {
  readonly eventId: string;
  readonly eventType: string;
  /** What the server answered; null when it did not. */
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

/** The time that the contract gives an endpoint (rule limit-7). */
const timeoutMs = 30_000;
/** Bytes read of an answer, which is ignored. The rest is cut off. */
const responseMaxBytes = 64 * 1_024;

/** Never rejects: it returns what went wrong. */
export async function forward(
  { url, secret }: ForwardTarget,
  event: { readonly id: string; readonly eventType: string },
  signal: AbortSignal,
): Promise<Forwarded> {
  const { id: eventId, eventType } = event;
  const at = new Date().toISOString();
  const body = stampedBody(JSON.stringify(event), eventType, at);
  // The same for an event and an address, however often it is sent, like an endpoint's delivery ID.
  const deliveryId = uuidOf(eventId, uuidOf(url.href, uuidOf.URL));
  const headers = deliveryHeaders({ deliveryId, eventType, body }, secret, at);
  const startedMs = performance.now();
  const result = await within(timeoutMs, signal, (ending) => post(url, headers, body, ending)).then(
    (statusCode) => ({ statusCode, error: isSuccess(statusCode) ? null : `HTTP ${statusCode}` }),
    (error: unknown) => ({ statusCode: null, error: describe(error) }),
  );
  return { eventId, eventType, ...result, durationMs: Math.round(performance.now() - startedMs) };
}

export function isSuccess(statusCode: number | null): boolean {
  return statusCode !== null && statusCode >= 200 && statusCode < 300;
}

/** Not fetch, which adds headers of its own. A connection each: servers are restarted while one works on them. */
function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<number> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const length = String(Buffer.byteLength(body));
  const options = {
    method: 'POST',
    headers: { ...headers, 'Content-Length': length },
    agent: false,
    signal,
  } as const;
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      let bytes = 0;
      const statusCode = response.statusCode ?? 0;
      response.on('error', reject);
      response.on('end', () => resolve(statusCode));
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= responseMaxBytes) return;
        resolve(statusCode);
        response.destroy();
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
