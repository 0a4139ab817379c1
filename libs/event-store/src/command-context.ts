import { randomUUID } from 'node:crypto';
import type { PersonalOwner } from '@pis/domain';

/** The origin of a command, written into the metadata of its events. */
export interface CommandContext {
  /** `apiKey:<id>`, `user:<id>`, `link:<paymentId>` for the counterparty of a payment link, or `system:<app>`. */
  readonly actor: string;
  readonly requestId: string | null;
  readonly correlationId: string;
  readonly causationId: string | null;
  readonly traceparent: string | null;
  /** Where the request came from; absent when no request caused it. The repository seals it. */
  readonly caller?: CallerAddress;
}

/** Under whose key an address is sealed: the organization of an API key, a user, or the payer of a link. */
export type AddressOwner =
  | `organization:${string}`
  | Extract<PersonalOwner, `user:${string}` | `contact:${string}`>;

/** Where a request came from. */
export interface CallerAddress {
  readonly owner: AddressOwner;
  /** IPv4 or IPv6, behind the trusted proxies. */
  readonly address: string;
}

/** As it is stored. */
export interface SealedAddress {
  readonly owner: AddressOwner;
  readonly sealed: string;
}

/** For an app's own actions. */
export function systemContext(app: string): CommandContext {
  return {
    actor: `system:${app}`,
    requestId: null,
    correlationId: randomUUID(),
    causationId: null,
    traceparent: null,
  };
}
