/** The bench of a steady load still runs, and draws what it measures. The values do not matter here. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { run } from './support/process.js';

const limitMs = 480_000;

it(
  'npm run bench -- steady in its short form draws latency, lag and memory, in the terminal and as an SVG file',
  async () => {
    const scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-steady-'));
    const svg = path.join(scratch, 'steady.svg');
    try {
      const args = ['tools/bench.mjs', 'steady', '--short', '--rate', '10', '--svg', svg];
      const { code, stdout, stderr } = await run(args, {});
      if (code !== 0) throw new Error(`the bench ended with ${String(code)}:\n${stderr}`);
      expect(stdout).toContain('STEADY LOAD: 10 payments per second for 6 s, all in one');
      expect(stdout).toMatch(/^payments +60$/m);
      const drawing = readFileSync(svg, 'utf8');
      for (const title of ['p99 of each second, ms', 'slowest reader', 'memory of Node.js, MB'])
        for (const text of [stdout, drawing]) expect(text).toContain(title);
      const lines = [...drawing.matchAll(/<polyline [^>]*points="([^"]+)"/g)];
      expect(lines).toHaveLength(3);
      for (const [, points = ''] of lines)
        expect(points).toMatch(/^\d+\.\d,\d+\.\d( \d+\.\d,\d+\.\d)*$/);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  },
  limitMs,
);
