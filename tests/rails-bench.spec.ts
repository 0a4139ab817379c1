/** The bench of the rails still runs and measures everything that it reports. Of the values only memory matters here. */
import { run } from './support/process.js';

const limitMs = 240_000;
/** Of a process that writes or reads a file of 100,000 entries. */
const memoryMaxMb = 300;

interface Load {
  readonly entries: number;
  readonly peakRssMb: number;
  readonly blockedMaxMs: number;
}

interface Results {
  readonly rails: {
    readonly bank: Readonly<Record<string, number>>;
    readonly files: readonly (Load & Readonly<Record<string, number>>)[];
    readonly large: {
      readonly written: Load & { readonly writeMs: number };
      readonly read: Load & { readonly parseMs: number };
    };
  };
}

it(
  'npm run bench -- rails in its short form sends payments by NACHA files and back, and measures it',
  async () => {
    const { code, stdout, stderr } = await run(
      ['tools/bench.mjs', 'rails', '--short', '--json'],
      {},
    );
    if (code !== 0) throw new Error(`the bench ended with ${String(code)}:\n${stderr}`);
    const { rails } = JSON.parse(stdout) as Results;
    expect(rails.bank).toMatchObject({ payments: 1_000, files: 1 });
    for (const field of ['submitMs', 'sendMs', 'acceptMs', 'returnMs', 'feedMs'])
      expect(rails.bank[field]).toBeGreaterThan(0);
    const [file] = rails.files;
    expect(file?.entries).toBe(1_000);
    for (const field of ['writeMs', 'parseMs', 'writeReturnsMs', 'parseReturnsMs', 'peakRssMb'])
      expect(file?.[field]).toBeGreaterThan(0);
    const { written, read } = rails.large;
    expect([written.entries, read.entries]).toEqual([100_000, 100_000]);
    for (const figure of [written.writeMs, read.parseMs]) expect(figure).toBeGreaterThan(0);
    for (const { peakRssMb } of [written, read]) expect(peakRssMb).toBeLessThan(memoryMaxMb);
  },
  limitMs,
);
