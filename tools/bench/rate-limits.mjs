/**
 * What the rate limit costs: reads per second of one gateway without it, with it, and with it shared
 * through PostgreSQL, as ratios within a round. The limit is the default one and no request is refused:
 * many keys take turns, so that each publishes its counts to PostgreSQL as often as a busy key.
 */
import { migrate } from '@pis/read-models';
import { say } from '../workspace.mjs';
import { createKeys } from './keys.mjs';
import { cpuMsOfTree } from './process-cpu.mjs';
import { measureRounds, startGateways } from './gateways.mjs';
import { measure } from './processes.mjs';
import { median } from './statistics.mjs';
import { withPostgres } from './with-postgres.mjs';

const connections = 64;
const keysCount = 128;
const full = { rounds: 15, seconds: 1 };
const short = { rounds: 1, seconds: 1 };
const byDefault = { PIS_RATE_LIMIT_PER_KEY: '200' };
const settings = {
  off: {},
  memory: { ...byDefault, PIS_RATE_LIMIT_STORE: 'memory' },
  postgres: { ...byDefault, PIS_RATE_LIMIT_STORE: 'postgres' },
};

export async function rateLimits({ isShort }) {
  const { rounds, seconds } = isShort ? short : full;
  return await withPostgres(async (place) => {
    await migrate({ connectionString: place.databaseUrl });
    const { apiKeys } = await createKeys(place.databaseUrl, keysCount);
    const gateways = await startGateways(place, settings);
    say('reads per second without a rate limit, with one, and with one that is shared');
    return summaryOf(
      await measureRounds(gateways, rounds, (gateway, name) =>
        measureReads(name, gateway, apiKeys, seconds),
      ),
    );
  });
}

async function measureReads(name, { url, pid }, keys, seconds) {
  const load = { origin: url, method: 'GET', path: '/v1/webhooks', headers: {}, keys };
  const beforeMs = cpuMsOfTree(pid);
  const { perSecond, statuses } = await measure('http-load.mjs', {
    ...load,
    connections,
    seconds,
    warmupSeconds: 0,
  });
  const { 200: served = 0, ...others } = statuses;
  if (served === 0 || Object.keys(others).length > 0)
    throw new Error(`rate limit ${name}: ${JSON.stringify(statuses)}`);
  return { perSecond, cpuMsPerRead: (cpuMsOfTree(pid) - beforeMs) / served };
}

/** Beside the rate the gateway's own CPU time: other work on the machine disturbs that less. */
function summaryOf(rounds) {
  const per = (pick) => median(rounds.map(pick));
  return {
    readsPerSecond: per(({ off }) => off.perSecond),
    memoryToOff: per(({ memory, off }) => memory.perSecond / off.perSecond),
    postgresToOff: per(({ postgres, off }) => postgres.perSecond / off.perSecond),
    cpuMsPerRead: per(({ off }) => off.cpuMsPerRead),
    memoryCpuToOff: per(({ memory, off }) => memory.cpuMsPerRead / off.cpuMsPerRead),
    postgresCpuToOff: per(({ postgres, off }) => postgres.cpuMsPerRead / off.cpuMsPerRead),
  };
}

export function reportRateLimits(summary) {
  const { readsPerSecond, memoryToOff, postgresToOff } = summary;
  const { cpuMsPerRead, memoryCpuToOff, postgresCpuToOff } = summary;
  console.log(`
RATE LIMIT                                  reads/s   CPU per read
api-gateway alone, without a limit          ${Math.round(readsPerSecond).toLocaleString('en').padEnd(7)}   ${cpuMsPerRead.toFixed(3)} ms
with the limit : without                    ${memoryToOff.toFixed(2).padEnd(7)}   ${memoryCpuToOff.toFixed(2)}
with the limit shared : without             ${postgresToOff.toFixed(2).padEnd(7)}   ${postgresCpuToOff.toFixed(2)}`);
}
