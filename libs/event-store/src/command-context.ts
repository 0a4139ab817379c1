import { randomUUID } from 'node:crypto';

/** The origin of a command, written into the metadata of its events. */
export interface CommandContext {
  /** `apiKey:<id>`, `user:<id>`, `link:<paymentId>` for the counterparty of a payment link, or `system:<app>`. */
  readonly actor: string;
  readonly requestId: string | null;
  readonly correlationId: string;
  readonly causationId: string | null;
  readonly traceparent: string | null;
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
