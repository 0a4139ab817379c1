/** The bench of costs still runs and measures everything that it reports. The values do not matter here. */
import { run } from './support/process.js';

const limitMs = 480_000;

interface Costs {
  readonly cpuMs: Readonly<Record<string, number>>;
  readonly totalCpuMs: number;
  readonly statements: number;
  readonly logReads: number;
  readonly walBytes: number;
  readonly rssMb: number;
}

interface AtRate extends Costs {
  readonly perSecond: number;
  readonly payments: number;
  readonly firstWebhook: { readonly p50Ms: number; readonly p99Ms: number };
}

interface Results {
  readonly cost: {
    readonly idle: Costs;
    readonly afterPayments: Costs;
    readonly rates: readonly AtRate[];
  };
}

it(
  'npm run bench -- cost in its short form measures an idle system and payments at two rates',
  async () => {
    const args = ['tools/bench.mjs', 'cost', '--short', '--json', '--rates', '2,20'];
    const { code, stdout, stderr } = await run(args, {});
    if (code !== 0) throw new Error(`the bench ended with ${String(code)}:\n${stderr}`);
    const { idle, afterPayments, rates } = (JSON.parse(stdout) as Results).cost;
    expect(rates.map(({ perSecond, payments }) => [perSecond, payments])).toEqual([
      [2, 6],
      [20, 60],
    ]);
    for (const { cpuMs } of [idle, afterPayments, ...rates])
      expect(Object.keys(cpuMs)).toEqual([
        'Node.js',
        'PostgreSQL, connections',
        'PostgreSQL, other',
      ]);
    for (const { rssMb, statements } of [idle, afterPayments]) {
      expect(rssMb).toBeGreaterThan(0);
      expect(statements).toBeGreaterThan(0);
    }
    for (const { totalCpuMs, statements, logReads, walBytes, firstWebhook } of rates) {
      for (const figure of [totalCpuMs, logReads, walBytes, firstWebhook.p50Ms])
        expect(figure).toBeGreaterThan(0);
      expect(statements).toBeGreaterThan(logReads);
      expect(firstWebhook.p99Ms).toBeGreaterThanOrEqual(firstWebhook.p50Ms);
    }
  },
  limitMs,
);

it(
  'npm run bench -- cost --distributed measures the process of each app',
  async () => {
    const args = ['tools/bench.mjs', 'cost', '--distributed', '--short', '--json', '--rates', '5'];
    const { code, stdout, stderr } = await run(args, {});
    if (code !== 0) throw new Error(`the bench ended with ${String(code)}:\n${stderr}`);
    const [costs] = (JSON.parse(stdout) as Results).cost.rates;
    expect(Object.keys(costs?.cpuMs ?? {})).toEqual(
      expect.arrayContaining(['api-gateway', 'rail-executor', 'webhook-dispatcher']),
    );
    expect(costs?.payments).toBe(15);
    expect(costs?.totalCpuMs).toBeGreaterThan(0);
  },
  limitMs,
);

it('npm run bench refuses an unknown part, and does not run all the others instead', async () => {
  const { code, stderr } = await run(['tools/bench.mjs', 'costs'], {});
  expect(code).not.toBe(0);
  expect(stderr).toContain('no part costs; there are: payments, cost');
});
