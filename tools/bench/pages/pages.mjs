/**
 * The pages of payment links under load: views at a steady pace of one link and of many, and payments that the API
 * accepts with and without those views beside it. Each view reads the end of its payment's stream. They come from many
 * visitors, so the pages keep a limit for each address, and a link records many visits: each visitor's repeated opens are counted
 * together. Pages and API are processes of their own on one PostgreSQL.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@pis/local-servers';
import { say } from '../../workspace.mjs';
import { cpuMsOfTree } from '../process-cpu.mjs';
import { measure, startApp } from '../processes.mjs';
import { createPayable, paymentLoad } from '../requests.mjs';
import { median } from '../statistics.mjs';
import { requestLinks } from './links.mjs';
import { onSlowPhone } from './slow-phone.mjs';

const connections = 64;
const viewsPerSecond = 300;
const visitors = 5_000;
/** Of a link. An address has a tenth of it: all views from one address would be refused, and the bench would fail. */
const limitPerSecond = 2 * viewsPerSecond;
const full = {
  links: 500,
  phoneLoads: 7,
  seconds: 20,
  warmupSeconds: 2,
  rounds: 6,
  roundSeconds: 4,
};
const short = {
  links: 20,
  phoneLoads: 1,
  seconds: 1,
  warmupSeconds: 1,
  rounds: 1,
  roundSeconds: 1,
};
/** A browser asks for a page so. */
const headers = { accept: 'text/html', 'accept-encoding': 'gzip', 'user-agent': 'bench' };

export async function pages({ isShort }) {
  const scale = isShort ? short : full;
  const scratch = mkdtempSync(join(tmpdir(), 'pis-bench-'));
  const undo = [() => rmSync(scratch, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres({ dataDir: join(scratch, 'postgres'), database: 'bench' });
    undo.push(() => postgres.stop());
    const env = {
      DATABASE_URL: postgres.url,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
      PIS_DATA_DIR: join(scratch, 'data'),
      PIS_BOOTSTRAP_API_KEY: `pis_test_${randomBytes(32).toString('base64url')}`,
      // One key takes all the load. Its limit would refuse it.
      PIS_RATE_LIMIT_PER_KEY: '0',
      LOG_LEVEL: 'warn',
    };
    const { target, paths } = await prepared(env, scale);
    const server = await startApp('payment-pages', {
      ...env,
      PIS_RATE_LIMIT_PER_KEY: String(limitPerSecond),
      PIS_TRUSTED_PROXIES: '127.0.0.0/8',
    });
    undo.push(() => server.stop());
    const gateway = await startApp('api-gateway', env);
    undo.push(() => gateway.stop());
    return await measureAll(server, { ...target, url: gateway.url }, paths, scale);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** Links that a user requests in the dashboard, and a contact that the API can pay. */
async function prepared(env, { links }) {
  const inAll = await startApp(null, env);
  try {
    const target = await createPayable({ url: inAll.url, apiKey: env.PIS_BOOTSTRAP_API_KEY });
    say(`${links} payment links`);
    const paths = await requestLinks(inAll, env, target.payment.originatorId, links);
    return { target, paths };
  } finally {
    await inAll.stop();
  }
}

async function measureAll(server, target, paths, scale) {
  const views = (of, { seconds, warmupSeconds }) =>
    measuredViews(server, { paths: of, seconds, warmupSeconds });
  say(`${viewsPerSecond} views a second of one link`);
  const one = await views(paths.slice(0, 1), scale);
  say(`${viewsPerSecond} views a second of ${paths.length} links`);
  const many = await views(paths, scale);
  say('one view on a slow phone');
  const slowPhone = await onSlowPhone(
    paths.slice(0, scale.phoneLoads).map((path) => `${server.url}${path}`),
  );
  say('payments accepted with and without the views');
  const rounds = [];
  const pace = { seconds: scale.roundSeconds, warmupSeconds: 1 };
  const creates = () => measuredCreates(paymentLoad(target, { ...pace, connections }));
  for (let round = 0; round < scale.rounds; round += 1) {
    const beside = async () => {
      const [seen, accepted] = await Promise.all([views(paths, pace), creates()]);
      return { views: seen, creates: accepted };
    };
    // In turn, so that neither side is always the later one.
    if (round % 2 === 0) rounds.push({ alone: await creates(), ...(await beside()) });
    else {
      const both = await beside();
      rounds.push({ ...both, alone: await creates() });
    }
  }
  const per = (pick) => median(rounds.map(pick));
  return {
    viewsPerSecond,
    one,
    many,
    slowPhone,
    beside: {
      p50Ms: per((round) => round.views.p50Ms),
      p99Ms: per((round) => round.views.p99Ms),
      cpuMsPerView: per((round) => round.views.cpuMsPerView),
    },
    createsPerSecond: per(({ alone }) => alone.perSecond),
    createsBesidePerSecond: per(({ creates: accepted }) => accepted.perSecond),
    createsToAlone: per(({ creates: accepted, alone }) => accepted.perSecond / alone.perSecond),
  };
}

/** With the CPU time of the pages' process, which other work on the machine disturbs less than latencies. */
async function measuredViews({ url, pid }, { paths, seconds, warmupSeconds }) {
  const pace = { connections, perSecond: viewsPerSecond };
  const load = { origin: url, paths, headers, visitors, ...pace };
  const beforeMs = cpuMsOfTree(pid);
  const { statuses, ...latency } = await measure('paced-load.mjs', {
    ...load,
    seconds,
    warmupSeconds,
  });
  requireOnly(200, statuses);
  return { ...latency, cpuMsPerView: (cpuMsOfTree(pid) - beforeMs) / statuses[200] };
}

async function measuredCreates(load) {
  const { statuses, ...measured } = await measure('http-load.mjs', load);
  requireOnly(201, statuses);
  return measured;
}

function requireOnly(status, statuses) {
  const { [status]: expected = 0, ...others } = statuses;
  if (expected === 0 || Object.keys(others).length > 0)
    throw new Error(`pages: not all answers are ${status}: ${JSON.stringify(statuses)}`);
}
