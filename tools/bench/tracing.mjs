/**
 * What telemetry costs: payments accepted per second by one gateway that exports traces of a tenth of its requests
 * and its metrics, and by one that exports nothing, as ratios within a round. A collector that throws everything
 * away runs beside both, as it would in production.
 */
import { say } from '../workspace.mjs';
import { cpuMsOfTree } from './process-cpu.mjs';
import { measureRounds, startGateways } from './gateways.mjs';
import { measure, startApp, startHelper } from './processes.mjs';
import { createPayable, paymentLoad } from './requests.mjs';
import { median } from './statistics.mjs';
import { appSettings, newApiKey, withPostgres } from './with-postgres.mjs';

const full = { rounds: 9, seconds: 4, connections: 64 };
/** Ends on a slow machine, too: each connection gets answers within these seconds. */
const short = { rounds: 1, seconds: 3, connections: 8 };
export const tracedPart = 0.1;

export async function tracing({ isShort }) {
  const { rounds, ...load } = isShort ? short : full;
  return await withPostgres(async (place) => {
    const collector = await startHelper('collector.mjs');
    place.undo.push(() => collector.stop());
    const apiKey = newApiKey();
    // It applies the migrations and creates the organization.
    const inAll = await startApp(null, { ...appSettings(place), PIS_BOOTSTRAP_API_KEY: apiKey });
    const target = await createPayable({ url: inAll.url, apiKey });
    await inAll.stop();
    const settings = {
      off: {},
      traced: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.hello.url,
        // Within each round, and more often than in production.
        OTEL_METRIC_EXPORT_INTERVAL: '2000',
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: String(tracedPart),
      },
    };
    const gateways = await startGateways(place, settings);
    say('payments accepted without telemetry, and with a tenth of the requests traced');
    return summaryOf(
      await measureRounds(gateways, rounds, (gateway) => measureCreates(gateway, target, load)),
    );
  });
}

async function measureCreates({ url, pid }, target, load) {
  const beforeMs = cpuMsOfTree(pid);
  const { perSecond, statuses } = await measure(
    'http-load.mjs',
    paymentLoad({ ...target, url }, { ...load, warmupSeconds: 0 }),
  );
  const { 201: created = 0, ...others } = statuses;
  if (created === 0 || Object.keys(others).length > 0)
    throw new Error(`creates: ${JSON.stringify(statuses)}`);
  return { perSecond, cpuMsPerCreate: (cpuMsOfTree(pid) - beforeMs) / created };
}

/** Beside the rate the gateway's own CPU time: other work on the machine disturbs that less. */
function summaryOf(rounds) {
  const per = (pick) => median(rounds.map(pick));
  return {
    createsPerSecond: per(({ off }) => off.perSecond),
    tracedToOff: per(({ traced, off }) => traced.perSecond / off.perSecond),
    cpuMsPerCreate: per(({ off }) => off.cpuMsPerCreate),
    tracedCpuToOff: per(({ traced, off }) => traced.cpuMsPerCreate / off.cpuMsPerCreate),
  };
}

export function reportTracing({ createsPerSecond, tracedToOff, cpuMsPerCreate, tracedCpuToOff }) {
  const rate = Math.round(createsPerSecond).toLocaleString('en').padEnd(9);
  console.log(`
TELEMETRY                                   creates/s   CPU per create
api-gateway alone, without                  ${rate}   ${cpuMsPerCreate.toFixed(3)} ms
${`with ${tracedPart * 100} % traced : without`.padEnd(44)}${tracedToOff.toFixed(2).padEnd(9)}   ${tracedCpuToOff.toFixed(2)}
goal                                        0.90`);
}
