/** Connections that are paused or cannot be read, staff that cannot be told, and the age of the routing directory. */
import { pausedConnections } from '@pis/bank-rails/connections';
import { directoryAges } from '@pis/bank-rails/directory';
import { countedGauges, type MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';
import { Gauge } from 'prom-client';
import type { RailExecutor } from './rail-executor.js';

export function railGauges(
  registry: MetricsRegistry,
  pool: pg.Pool,
  executor: Pick<RailExecutor, 'unreadSeconds' | 'staffFailures'>,
): void {
  new Gauge({
    name: 'pis_rail_unread_seconds',
    help: 'How long this process could not read what a bank reports; 0 while it can',
    labelNames: ['connection'],
    registers: [registry],
    collect() {
      for (const [connection, seconds] of executor.unreadSeconds())
        this.set({ connection }, seconds);
    },
  });
  countedGauges(registry, () => executor.staffFailures(), [
    {
      name: 'pis_staff_notice_failures',
      help: 'Attempts in a row to tell staff of payments in doubt that failed',
      label: 'channel',
      numbers: { email: ({ email }) => email, webhook: ({ webhook }) => webhook },
    },
  ]);
  countedGauges(registry, () => pausedConnections(pool), [
    {
      name: 'pis_rail_connections',
      help: 'Connections to banks over which nothing new is sent until an operator resumes them',
      label: 'state',
      numbers: { paused: (paused) => paused },
    },
  ]);
  countedGauges(registry, () => directoryAges(pool), [
    {
      name: 'pis_routing_directory_age_seconds',
      help: 'Time since the last import of a participant list into the routing directory; 0 when it was never imported',
      label: 'kind',
      numbers: {
        fedach: ({ fedach }) => fedach,
        fedwire: ({ fedwire }) => fedwire,
        rtp: ({ rtp }) => rtp,
        fednow: ({ fednow }) => fednow,
      },
    },
  ]);
}
