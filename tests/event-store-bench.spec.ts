/** The bench of event stores still runs and measures everything that it reports. The values do not matter here. */
import { run } from './support/process.js';

const limitMs = 480_000;

interface Width {
  readonly appendsPerSecond: number;
  readonly createsPerSecond: number;
  readonly createsToAppends: number;
}

interface Figures {
  readonly widths: Readonly<Record<string, Width>>;
  readonly one: { readonly appendP50Ms: number; readonly createP50Ms: number };
  readonly readsPerSecond: number;
  readonly lifecyclesPerSecond: number;
  readonly log: Readonly<Record<string, number>>;
}

interface Results {
  readonly 'event-store': Readonly<Record<string, Figures>>;
}

it(
  'npm run bench --event-store in its short form measures the client and the system on each store',
  async () => {
    const { code, stdout, stderr } = await run(
      ['tools/bench.mjs', '--event-store', '--short', '--json'],
      {},
    );
    if (code !== 0) throw new Error(`the bench ended with ${String(code)}:\n${stderr}`);
    const { 'event-store': stores } = JSON.parse(stdout) as Results;
    expect(Object.keys(stores)).toEqual([
      'PostgreSQL',
      'stand-in, eventstore',
      'stand-in, kurrent',
    ]);
    for (const { widths, one, readsPerSecond, lifecyclesPerSecond, log } of Object.values(stores)) {
      expect(Object.keys(widths)).toEqual(['16', '64']);
      for (const measured of Object.values(widths))
        for (const figure of [measured.appendsPerSecond, measured.createsPerSecond])
          expect(figure).toBeGreaterThan(0);
      for (const figure of [one.appendP50Ms, one.createP50Ms, readsPerSecond, lifecyclesPerSecond])
        expect(figure).toBeGreaterThan(0);
      for (const figure of Object.values(log)) expect(figure).toBeGreaterThan(0);
    }
  },
  limitMs,
);
