/** The headers that only some deliveries carry: during the rotation of a secret, and in a replay. */
import { sign } from './signing.js';

/** The fields of an endpoint that decide which secrets sign its deliveries. */
export interface RotatingSecrets {
  readonly sealedSecret: string;
  readonly previousSecret: { readonly sealedSecret: string; readonly endsAt: string } | null;
}

/** The secret before the last rotation, sealed; null when no overlap is under way at this time. */
export function overlappingSecret({ previousSecret }: RotatingSecrets, now: Date): string | null {
  if (previousSecret === null || now.getTime() >= Date.parse(previousSecret.endsAt)) return null;
  return previousSecret.sealedSecret;
}

/** A receiver holds one secret, and accepts the delivery when either signature was made with it. */
export function previousSignature(
  previousSecret: string,
  timestamp: string,
  body: string,
): Record<string, string> {
  return { 'X-Webhook-Signature-256-Previous': sign(previousSecret, timestamp, body) };
}

export const replayHeaders: Readonly<Record<string, string>> = { 'X-Webhook-Replay': 'true' };
