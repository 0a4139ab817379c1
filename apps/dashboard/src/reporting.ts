/** What happens and what happened: live updates, the overview, and downloads, put together. */
import type { Provider } from '@nestjs/common';
import type { EventStore } from '@pis/event-store';
import { figuresQuery } from '@pis/read-models';
import { EVENT_STORE, type Logger, LOGGER, PG_POOL } from '@pis/service-kit';
import { SignIn } from '@pis/users';
import { endpointHealths } from '@pis/webhook-deliveries';
import type pg from 'pg';
import { PaymentExports } from './exports/payment-export.js';
import { exportHandlers } from './handlers/exports.js';
import { liveHandlers } from './handlers/live.js';
import { overviewHandlers } from './handlers/overview.js';
import { LiveFeed } from './live/live-feed.js';
import { LiveStreams } from './live/live-streams.js';
import { SessionWatch } from './live/session-watch.js';
import type { exportOperations } from './operations/exports.js';
import type { liveOperations } from './operations/live.js';
import type { overviewOperations } from './operations/overview.js';
import { RecordedActions } from './recorded-actions.js';
import type { Handlers } from './routes.js';
import { USE_CASES, type UseCases } from './use-cases.js';

export const REPORTING = Symbol('Reporting');

export type ReportingHandlers = Handlers<
  keyof typeof liveOperations | keyof typeof overviewOperations | keyof typeof exportOperations
>;

export function reportingProviders(): Provider[] {
  return [
    {
      provide: SessionWatch,
      inject: [SignIn, LOGGER],
      useFactory: (signIn: SignIn, logger: Logger) =>
        new SessionWatch(signIn, (err) => logger.warn({ err }, 'sessions could not be checked')),
    },
    {
      provide: LiveStreams,
      inject: [EVENT_STORE, PG_POOL, LOGGER, USE_CASES, SessionWatch],
      useFactory: (
        store: EventStore,
        pool: pg.Pool,
        logger: Logger,
        { ownWrites }: UseCases,
        sessions: SessionWatch,
      ) =>
        new LiveStreams(
          new LiveFeed({
            store,
            pool,
            onSeen: (writeKey, organizationId, position) =>
              ownWrites.note(writeKey, organizationId, position),
            onFailure: (err) => logger.warn({ err }, 'live updates are interrupted'),
          }),
          sessions,
        ),
    },
    {
      provide: REPORTING,
      inject: [PG_POOL, USE_CASES, LiveStreams, SessionWatch, RecordedActions],
      useFactory: (
        pool: pg.Pool,
        { endpoints, payments, ownWrites }: UseCases,
        streams: LiveStreams,
        sessions: SessionWatch,
        actions: RecordedActions,
      ): ReportingHandlers => ({
        ...liveHandlers(streams),
        ...overviewHandlers({
          figures: figuresQuery(pool),
          endpoints,
          healths: endpointHealths(pool),
        }),
        ...exportHandlers({ exports: new PaymentExports(payments, sessions), ownWrites, actions }),
      }),
    },
  ];
}
