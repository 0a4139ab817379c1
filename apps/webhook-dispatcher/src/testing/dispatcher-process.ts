/**
 * A dispatcher as a process of its own, so that a test can kill it with SIGKILL. Its parent sends messages
 * with the events to handle. It answers which ones are done.
 */
import type { PaymentIntegrationEvent } from '@pis/contracts';
import { postgresEventStore } from '@pis/event-store';
import { testKeyringOn } from '@pis/keyring/testing';
import type { WebhooksConfig } from '@pis/service-kit';
import pg from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createDispatcher, type DispatcherOptions } from '../dispatcher.js';

export interface Death {
  /** A statement by its name, or by its text when it has none. */
  readonly statement: string;
  /** Only when this one was before it on its connection. */
  readonly after?: string;
  /** Before it is sent, when it has been sent, or when its answer is there. */
  readonly moment: 'before' | 'during' | 'after';
}

export interface ProcessOptions {
  readonly databaseUrl: string;
  readonly owner: string;
  readonly config: WebhooksConfig;
  readonly extraCaPem: string;
  readonly limits: NonNullable<DispatcherOptions['limits']>;
  /** Where the process kills itself. */
  readonly dieAt?: Death;
}

export type Request =
  | { readonly start: ProcessOptions }
  | { readonly handle: PaymentIntegrationEvent };
export type Reply =
  | { readonly started: true }
  | { readonly handled: string }
  | { readonly failed: string; readonly error: string };

const connectionsMax = 5;

async function startFrom({ databaseUrl, dieAt, ...options }: ProcessOptions) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connectionsMax });
  if (dieAt !== undefined) pool.on('connect', (client) => makeMortal(client, dieAt));
  const dispatcher = createDispatcher({
    ...options,
    store: postgresEventStore({ pool, listenConnectionString: databaseUrl }),
    keyring: await testKeyringOn(pool),
    pool,
    logger: pino({ level: 'silent' }),
    metrics: new Registry(),
  });
  dispatcher.start();
  return dispatcher;
}

type Query = (config: string | pg.QueryConfig, ...rest: unknown[]) => unknown;

/** Stops the process at this moment: no answer is handled and no other statement is sent. */
function makeMortal(client: pg.PoolClient, { statement, after, moment }: Death): void {
  const query = client.query.bind(client) as unknown as Query;
  const die = () => process.kill(process.pid, 'SIGKILL');
  let previous = '';
  const mortal: Query = (config, ...rest) => {
    const name = typeof config === 'string' ? config : (config.name ?? config.text);
    const isItsTurn = name === statement && (after === undefined || after === previous);
    previous = name;
    if (!isItsTurn) return query(config, ...rest);
    if (moment === 'before') die();
    // Sent when this turn of the event loop is over.
    if (moment === 'during') setImmediate(die);
    const callback = rest.at(-1);
    if (moment === 'after' && typeof callback === 'function')
      return query(config, ...rest.slice(0, -1), die);
    const result = query(config, ...rest);
    return moment === 'after' ? (result as Promise<unknown>).then(die) : result;
  };
  client.query = mortal as typeof client.query;
}

const reply = (message: Reply) => process.send?.(message);
let dispatcher: Awaited<ReturnType<typeof startFrom>> | null = null;
process.on('message', (request: Request) => {
  if ('start' in request) {
    void startFrom(request.start).then((started) => {
      dispatcher = started;
      reply({ started: true });
    });
    return;
  }
  const { eventId } = request.handle;
  dispatcher?.handle(request.handle).then(
    () => reply({ handled: eventId }),
    (error: unknown) => reply({ failed: eventId, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
