/**
 * The headers that the attempts of a delivery had. They are not stored. They follow from the body, the time of
 * the attempt and the secret, and are computed again while the secret of that time is the current one.
 */
import type { WebhookEndpoint } from '@pis/domain';
import { KeyDestroyed, type Keyring, ownerOf } from '@pis/keyring';
import { type AttemptRecord, attemptView, type StoredDelivery } from '@pis/webhook-deliveries';
import { deliveryHeaders, previousSignature, stampedBody } from '@pis/webhooks';
import type { AttemptPage } from '../operations/webhooks.js';

type Missing = NonNullable<AttemptPage['signatureMissing']>;

interface Attempted {
  readonly delivery: StoredDelivery;
  readonly body: string | null;
  readonly attempts: readonly AttemptRecord[];
  /** The endpoint whose secret signs, or why no signature is shown. */
  readonly signer: WebhookEndpoint | Extract<Missing, 'endpoint_deleted' | 'not_permitted'>;
}

interface Secrets {
  readonly current: string;
  /** From then on every dispatcher signs with it. */
  readonly since: Date;
  /** The one before, and until when it signed too. Null without an overlap. */
  readonly previous: { readonly secret: string; readonly endsAt: string } | null;
}

/** A dispatcher notices a new secret within this time. Before that, either secret may have signed. */
const noticedWithinMs = 10_000;

const signatureNames: ReadonlySet<string> = new Set(['X-Webhook-Signature-256']);

/** @throws StoreUnavailable */
export async function attemptPages(
  keyring: Keyring,
  { delivery, body, attempts, signer }: Attempted,
): Promise<readonly AttemptPage[]> {
  const secrets =
    typeof signer === 'string' || attempts.length === 0 ? null : await secretsOf(keyring, signer);
  return attempts.map((attempt) => {
    const missing = typeof signer === 'string' ? signer : 'secret_replaced';
    const usable = secrets !== null && attempt.at >= secrets.since ? secrets : null;
    const headers = headersAt(delivery, body, attempt, usable);
    const isSigned = usable !== null && body !== null;
    return { ...attemptView(attempt), headers, signatureMissing: isSigned ? null : missing };
  });
}

function headersAt(
  { id: deliveryId, eventType }: StoredDelivery,
  body: string | null,
  { at }: AttemptRecord,
  secrets: Secrets | null,
): AttemptPage['headers'] {
  const timestamp = at.toISOString();
  const sent = body === null ? '' : stampedBody(body, eventType, timestamp);
  const all = deliveryHeaders(
    { deliveryId, eventType, body: sent },
    secrets?.current ?? '',
    timestamp,
  );
  if (secrets === null || body === null)
    return Object.entries(all).filter(([name]) => !signatureNames.has(name));
  const { previous } = secrets;
  return Object.entries({
    ...all,
    ...(previous === null || timestamp >= previous.endsAt
      ? {}
      : previousSignature(previous.secret, timestamp, sent)),
  });
}

/** Null when the key of the secrets was destroyed. */
async function secretsOf(keyring: Keyring, endpoint: WebhookEndpoint): Promise<Secrets | null> {
  const owner = ownerOf.webhookEndpoint(endpoint.endpointId);
  // The first secret has signed every attempt.
  const isFirst = endpoint.secretSince === endpoint.createdAt;
  const since = isFirst ? 0 : Date.parse(endpoint.secretSince) + noticedWithinMs;
  const { previousSecret } = endpoint;
  const opened = (sealed: string) => keyring.open(sealed, owner);
  try {
    return {
      current: await opened(endpoint.sealedSecret),
      since: new Date(since),
      previous: previousSecret && {
        secret: await opened(previousSecret.sealedSecret),
        endsAt: previousSecret.endsAt,
      },
    };
  } catch (error) {
    if (error instanceof KeyDestroyed) return null;
    throw error;
  }
}
