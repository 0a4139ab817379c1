import { diag } from '@opentelemetry/api';
import { reportProblems } from './telemetry.js';

afterEach(() => diag.disable());

it('a collector that refuses everything is reported at first, then once a minute with a count', () => {
  let nowMs = 0;
  const lines: unknown[] = [];
  reportProblems({ warn: (line: unknown) => void lines.push(line) }, () => nowMs);
  for (; nowMs <= 60_000; nowMs += 1_000) diag.error('refused');
  expect(lines).toEqual([
    { detail: 'refused', leftOut: 0 },
    { detail: 'refused', leftOut: 59 },
  ]);
});
