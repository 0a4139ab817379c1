/**
 * Jest's order of test files. Jest runs those first that took longest in the last run. A fresh clone has no
 * last run, and Jest then takes the size of a file for its duration. That is wrong for files that are short
 * and start whole systems: the last of them would run alone while the other workers have nothing to do.
 */
import { relative } from 'node:path';
import TestSequencer from '@jest/test-sequencer';
import { root } from '../workspace.mjs';

/** The slowest files on two cores, longest first. Others follow in Jest's own order. */
export const slowest = [
  'tests/webhooks-chaos.spec.ts',
  'tests/event-store-bench.spec.ts',
  'tests/openapi/schemathesis.spec.ts',
  'tests/main-job.spec.ts',
  'tests/contract/api.spec.ts',
  'tests/cli-webhooks.spec.ts',
  'tests/faults.spec.ts',
  'tests/webhooks-alerts.spec.ts',
  'tests/webhooks-bench.spec.ts',
  'tests/cli.spec.ts',
  'apps/webhook-dispatcher/src/webhook-dispatcher-kill.pg.spec.ts',
];

export default class SlowestFirst extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = slowest.indexOf(relative(root, path));
      return index === -1 ? slowest.length : index;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
}
