/** Checks that the bench of webhooks runs and reports every figure. The values do not matter here. */
import { run } from './support/process.js';

const limitMs = 240_000;

interface Rate {
  readonly deliveries: number;
  readonly perSecond: number;
  readonly dispatcherCpuMs: number;
  readonly postgresCpuMs: number;
}

interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Results {
  readonly webhooks: {
    readonly envelopeBytes: number;
    readonly drained: Rate;
    readonly sustained: Rate;
    readonly aged: Rate & { readonly ratio: number; readonly cpuRatio: number };
    readonly latency: Latency & { readonly appended: Latency };
    readonly isolation: Latency & { readonly slowAttempts: number };
  };
}

it(
  'npm run bench webhooks in its short form measures rates, latencies and isolation',
  async () => {
    const { code, stdout, stderr } = await run(
      ['tools/bench.mjs', 'webhooks', '--short', '--json'],
      {},
    );
    if (code !== 0) throw new Error(`the bench ended with ${String(code)}:\n${stderr}`);
    const { webhooks } = JSON.parse(stdout) as Results;
    const { drained, sustained, aged, latency, isolation, envelopeBytes } = webhooks;
    for (const rate of [drained, sustained, aged])
      for (const measured of [rate.deliveries, rate.perSecond, rate.dispatcherCpuMs])
        expect(measured).toBeGreaterThan(0);
    for (const { p50Ms, p99Ms } of [latency, latency.appended, isolation]) {
      expect(p50Ms).toBeGreaterThan(0);
      expect(p99Ms).toBeGreaterThanOrEqual(p50Ms);
    }
    expect(isolation.slowAttempts).toBeGreaterThan(0);
    for (const ratio of [aged.ratio, aged.cpuRatio]) expect(ratio).toBeGreaterThan(0);
    expect(envelopeBytes).toBeGreaterThan(1_000);
  },
  limitMs,
);
