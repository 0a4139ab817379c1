/**
 * Signatures of webhook deliveries (rules signature-1 to signature-3). The signed string is the timestamp,
 * a period and the raw body. The signed bytes must be the bytes that are sent.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** How far a delivery's timestamp may be from the receiver's clock (rule signature-3). */
const timestampToleranceMs = 5 * 60_000;

const secretBytes = 32;

/** A new endpoint secret: 64 hexadecimal characters (rule endpoint-field-6). */
export function createSecret(): string {
  return randomBytes(secretBytes).toString('hex');
}

/**
 * `sha256=<hex>`: HMAC-SHA256 of `timestamp.rawBody`. The key is the secret as the client was shown
 * it, its 64 characters as UTF-8, not the 32 bytes they stand for: that is what a receiver that
 * passes the secret to its HMAC function computes.
 *
 * @param timestamp ISO 8601, as sent in X-Webhook-Timestamp
 */
export function sign(secret: string, timestamp: string, rawBody: string | Uint8Array): string {
  const hmac = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody);
  return `sha256=${hmac.digest('hex')}`;
}

export interface Delivery {
  /** Unique per event and endpoint, identical across retries. */
  readonly deliveryId: string;
  readonly eventType: string;
  readonly body: string;
}

/** The headers of one attempt, signed at `timestamp` (ISO 8601). */
export function deliveryHeaders(
  { deliveryId, eventType, body }: Delivery,
  secret: string,
  timestamp: string,
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Payment-Initiation-Service-Webhooks/1',
    // We do not decompress, so nobody can abuse that.
    'Accept-Encoding': 'identity',
    'X-Webhook-Signature-256': sign(secret, timestamp, body),
    'X-Webhook-Timestamp': timestamp,
    'X-Webhook-Event': eventType,
    'X-Webhook-Delivery': deliveryId,
  };
}

/** Headers as Node's HTTP server gives them: names in lower case. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * What a receiver does: whether the body was signed with the secret, within the tolerance of its
 * clock. Constant-time in the signature.
 *
 * @param rawBody the bytes received, before any parsing
 */
export function verify(
  rawBody: string | Uint8Array,
  headers: ReceivedHeaders,
  secret: string,
  now: Date,
): boolean {
  const signature = headers['x-webhook-signature-256'];
  const timestamp = headers['x-webhook-timestamp'];
  if (typeof signature !== 'string' || typeof timestamp !== 'string') return false;
  // An invalid timestamp gives NaN, which compares false.
  const withinTolerance = Math.abs(now.getTime() - Date.parse(timestamp)) <= timestampToleranceMs;
  if (!withinTolerance) return false;
  const given = Buffer.from(signature);
  const expected = Buffer.from(sign(secret, timestamp, rawBody));
  return given.length === expected.length && timingSafeEqual(given, expected);
}
