/**
 * A dispatcher as a process of its own, so that a test can kill it as only a process can be killed. Told
 * by messages of its parent which events to handle; says which are done.
 */
import type { PaymentIntegrationEvent } from '@pis/contracts';
import { postgresEventStore } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import type { WebhooksConfig } from '@pis/service-kit';
import pg from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createDispatcher, type DispatcherOptions } from '../dispatcher.js';

export interface ProcessOptions {
  readonly databaseUrl: string;
  readonly owner: string;
  readonly config: WebhooksConfig;
  readonly extraCaPem: string;
  readonly limits: NonNullable<DispatcherOptions['limits']>;
}

export type Request =
  | { readonly start: ProcessOptions }
  | { readonly handle: PaymentIntegrationEvent };
export type Reply =
  | { readonly started: true }
  | { readonly handled: string }
  | { readonly failed: string; readonly error: string };

const connectionsMax = 5;

function startFrom({ databaseUrl, ...options }: ProcessOptions) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connectionsMax });
  const dispatcher = createDispatcher({
    ...options,
    store: postgresEventStore({ pool, listenConnectionString: databaseUrl }),
    keyring: testKeyring(),
    pool,
    logger: pino({ level: 'silent' }),
    metrics: new Registry(),
  });
  dispatcher.start();
  return dispatcher;
}

const reply = (message: Reply) => process.send?.(message);
let dispatcher: ReturnType<typeof startFrom> | null = null;
process.on('message', (request: Request) => {
  if ('start' in request) {
    dispatcher = startFrom(request.start);
    reply({ started: true });
    return;
  }
  const { eventId } = request.handle;
  dispatcher?.handle(request.handle).then(
    () => reply({ handled: eventId }),
    (error: unknown) => reply({ failed: eventId, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
