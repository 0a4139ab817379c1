/** The bench of tracing still runs and prints what it measures. The values do not matter here. */
import { run } from './support/process.js';

const limitMs = 480_000;

it(
  'npm run bench -- tracing in its short form creates payments with and without traces, and prints the ratios',
  async () => {
    const { code, stdout, stderr } = await run(['tools/bench.mjs', 'tracing', '--short'], {});
    if (code !== 0) throw new Error(`the bench ended with ${String(code)}:\n${stderr}`);
    const ratios = /^with 10 % traced : without +([\d.]+) +([\d.]+)$/m.exec(stdout);
    if (ratios === null) throw new Error(`the bench printed no ratios:\n${stdout}`);
    for (const ratio of ratios.slice(1)) expect(Number(ratio)).toBeGreaterThan(0);
  },
  limitMs,
);
