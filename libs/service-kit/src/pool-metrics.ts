/** The connections of a process to PostgreSQL, by the semantic conventions of OpenTelemetry. */
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';

const poolLabel = 'db_client_connection_pool_name';
const stateLabel = 'db_client_connection_state';

/** @param pools by name */
export function measurePools(
  registry: Registry,
  pools: Readonly<
    Record<string, Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'>>
  >,
): void {
  const gauge = (
    name: string,
    help: string,
    labelNames: readonly string[],
    collect: (this: Gauge) => void,
  ) => new Gauge({ name, help, labelNames: [...labelNames], registers: [registry], collect });
  const each = Object.entries(pools);
  gauge(
    'db_client_connection_count',
    'Connections to PostgreSQL, by pool and state: used or idle',
    [poolLabel, stateLabel],
    function () {
      for (const [name, { totalCount, idleCount }] of each) {
        this.set({ [poolLabel]: name, [stateLabel]: 'idle' }, idleCount);
        this.set({ [poolLabel]: name, [stateLabel]: 'used' }, totalCount - idleCount);
      }
    },
  );
  gauge('db_client_connection_max', 'The most connections of a pool', [poolLabel], function () {
    for (const [name, { options }] of each) this.set({ [poolLabel]: name }, options.max);
  });
  gauge(
    'db_client_connection_pending_requests',
    'Queries that wait for a connection of the pool',
    [poolLabel],
    function () {
      for (const [name, { waitingCount }] of each) this.set({ [poolLabel]: name }, waitingCount);
    },
  );
}
