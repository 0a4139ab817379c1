/** Connections that are paused, and the age of the routing directory. */
import { pausedConnections } from '@pis/bank-rails/connections';
import { directoryAges } from '@pis/bank-rails/directory';
import { countedGauges, type MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';

export function railGauges(registry: MetricsRegistry, pool: pg.Pool): void {
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
