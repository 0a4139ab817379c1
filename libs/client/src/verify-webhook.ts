/** Verifies that a delivery comes from the service, and returns its event (rules signature-1 to signature-3). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isUint8Array } from 'node:util/types';
import { PisWebhookError } from './errors.js';
import type { WebhookEvent } from './webhook-types.js';

/** Headers as `fetch` has them, or as Node's HTTP server and its frameworks do. */
export type WebhookHeaders =
  | Pick<Headers, 'get'>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyWebhookOptions {
  /** The receiver's clock; default now. */
  readonly now?: Date | undefined;
  /** How far the time of signing may be from it, either way; default 5 minutes. */
  readonly toleranceMs?: number | undefined;
}

const toleranceDefaultMs = 5 * 60_000;
/** As the service writes it: ISO 8601 in UTC. */
const timestampFormat = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/;

/** The second is there while the secret is being rotated: made with the one before. */
const signatureHeaders = ['X-Webhook-Signature-256', 'X-Webhook-Signature-256-Previous'] as const;

/**
 * The event of a delivery that was signed with the endpoint's secret a moment ago. The same event may
 * arrive several times, and in any order: deduplicate on its `id`.
 *
 * During a rotation deliveries carry a second signature, made with the secret before: a receiver holds
 * one secret, the old or the new one, and both are accepted.
 *
 * @param rawBody the bytes as they came, before any parsing: other spacing is another signature
 * @param secret the `secret` of the answer that created the endpoint, or rotated its secret
 * @throws PisWebhookError when it must not be trusted: answer 400 and do nothing
 * @throws TypeError when an argument makes verification impossible
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
  { now = new Date(), toleranceMs = toleranceDefaultMs }: VerifyWebhookOptions = {},
): WebhookEvent {
  if (typeof rawBody !== 'string' && !isUint8Array(rawBody))
    throw new TypeError(
      'rawBody must be the bytes or the text received, not what was parsed from it',
    );
  // Anyone can sign with an empty secret. A missing secret must not verify everything.
  if (typeof secret !== 'string' || secret === '') throw new TypeError('secret is empty');

  const signatures = signatureHeaders.flatMap((name) => headerIn(headers, name) ?? []);
  const timestamp = headerIn(headers, 'X-Webhook-Timestamp');
  if (signatures.length === 0 || timestamp === null)
    throw new PisWebhookError('signature', 'the delivery is not signed');
  const digest = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest('hex');
  if (!signatures.some((given) => equalInConstantTime(given, `sha256=${digest}`)))
    throw new PisWebhookError('signature', 'the signature does not match');

  const signedAt = timestampFormat.test(timestamp) ? Date.parse(timestamp) : NaN;
  // NaN, of a timestamp or a clock that is none, is not within any tolerance.
  if (!(Math.abs(now.getTime() - signedAt) <= toleranceMs))
    throw new PisWebhookError('timestamp', 'signed too long ago, or by a clock too far ahead');
  return eventIn(rawBody);
}

function equalInConstantTime(given: string, expected: string): boolean {
  const givenBytes = Buffer.from(given);
  const expectedBytes = Buffer.from(expected);
  // The length is no secret.
  return givenBytes.length === expectedBytes.length && timingSafeEqual(givenBytes, expectedBytes);
}

/** Null when it is missing or given twice. */
function headerIn(headers: WebhookHeaders, name: string): string | null {
  if (isHeaders(headers)) return headers.get(name);
  const lowerCase = name.toLowerCase();
  const found = Object.entries(headers).filter(([key]) => key.toLowerCase() === lowerCase);
  const values = found.flatMap(([, value]) => value ?? []);
  return values.length === 1 ? (values[0] ?? null) : null;
}

function isHeaders(headers: WebhookHeaders): headers is Pick<Headers, 'get'> {
  return typeof headers['get' as keyof WebhookHeaders] === 'function';
}

function eventIn(rawBody: string | Uint8Array): WebhookEvent {
  const event = parsed(rawBody);
  if (!isEvent(event)) throw new PisWebhookError('payload', 'the body is not an event');
  return event;
}

/** Undefined when it is not JSON in UTF-8. */
function parsed(rawBody: string | Uint8Array): unknown {
  try {
    const text = typeof rawBody === 'string' ? rawBody : utf8.decode(rawBody);
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The fields that identify an event. Unknown types and fields pass. */
function isEvent(value: unknown): value is WebhookEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { id, eventType, data } = value as Readonly<Record<string, unknown>>;
  return (
    typeof id === 'string' &&
    typeof eventType === 'string' &&
    typeof data === 'object' &&
    data !== null
  );
}
