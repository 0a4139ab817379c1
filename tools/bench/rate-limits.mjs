/**
 * What the rate limit costs: reads per second of one gateway without it, with it, and with it shared
 * through PostgreSQL, as ratios within a round. The limit is the default one and no request is refused:
 * many keys take turns, so that each publishes its counts to PostgreSQL as often as a busy key.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@pis/local-servers';
import { migrate } from '@pis/read-models';
import { say } from '../workspace.mjs';
import { createKeys } from './keys.mjs';
import { cpuMsOfTree } from './process-cpu.mjs';
import { measure, startApp } from './processes.mjs';
import { median } from './statistics.mjs';

const connections = 64;
const keysCount = 128;
const full = { rounds: 15, seconds: 1 };
const short = { rounds: 1, seconds: 1 };
const settings = {
  off: { PIS_RATE_LIMIT_PER_KEY: '0' },
  memory: { PIS_RATE_LIMIT_STORE: 'memory' },
  postgres: { PIS_RATE_LIMIT_STORE: 'postgres' },
};

export async function rateLimits({ isShort }) {
  const scale = isShort ? short : full;
  const scratch = mkdtempSync(join(tmpdir(), 'pis-bench-'));
  const undo = [() => rmSync(scratch, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres({ dataDir: join(scratch, 'postgres'), database: 'bench' });
    undo.push(() => postgres.stop());
    await migrate({ connectionString: postgres.url });
    const { apiKeys } = await createKeys(postgres.url, keysCount);
    const env = {
      DATABASE_URL: postgres.url,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
      PIS_DATA_DIR: join(scratch, 'data'),
      LOG_LEVEL: 'warn',
    };
    const gateways = {};
    for (const [name, setting] of Object.entries(settings)) {
      gateways[name] = await startApp('api-gateway', { ...env, ...setting });
      undo.push(() => gateways[name].stop());
    }
    say('reads per second without a rate limit, with one, and with one that is shared');
    return summaryOf(await measureRounds(gateways, apiKeys, scale));
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** A first round, which is not counted, warms up connections and code. */
async function measureRounds(gateways, keys, { rounds, seconds }) {
  const done = [];
  for (let round = 0; round <= rounds; round += 1) {
    const measured = {};
    for (const [name, gateway] of Object.entries(gateways))
      measured[name] = await measureReads(name, gateway, keys, seconds);
    if (round > 0) done.push(measured);
  }
  return done;
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
