/**
 * Jest's order of test files: those first that take longest, so that no long one ends alone while the other
 * workers have nothing to do. Jest remembers the durations of its last run. A fresh clone has none, and Jest
 * then takes the size of a file for its duration, which is wrong for short files that start whole systems.
 */
import { relative } from 'node:path';
import TestSequencer from '@jest/test-sequencer';
import { root } from '../workspace.mjs';

/** The files that take more than 15 s on two cores, longest first. Others follow in Jest's own order. */
export const slowest = [
  'tests/rails-chaos.spec.ts',
  'tests/personal-data-distributed.spec.ts',
  'tests/personal-data.spec.ts',
  'tests/webhooks-chaos.spec.ts',
  'tests/openapi/schemathesis.spec.ts',
  'tests/event-store-bench.spec.ts',
  'tests/contract/api.spec.ts',
  'tests/main-job.spec.ts',
  'tests/replicas.spec.ts',
  'tests/previous-release.spec.ts',
  'tests/helm-run.spec.ts',
  'tests/bundle.spec.ts',
  'tests/point-in-time.spec.ts',
  'tests/kafka-lost.spec.ts',
  'tests/payment-links.spec.ts',
  'tests/erasure-two-gateways.spec.ts',
  'tests/all-in-one-bank.spec.ts',
  'tests/erasure.spec.ts',
  'tests/cli-webhooks.spec.ts',
  'tests/faults.spec.ts',
  'tests/cli.spec.ts',
  'tests/database-connections.spec.ts',
  'tests/helm-run-minimal.spec.ts',
  // They wait while helm-run builds helm.
  'tests/helm-values.spec.ts',
  'tests/helm-chart.spec.ts',
  'tests/helm-schemas.spec.ts',
  'apps/webhook-dispatcher/src/webhook-dispatcher-kill.pg.spec.ts',
  'libs/messaging/src/kafka-faults.kafka.spec.ts',
  'apps/rail-executor/src/several-banks.pg.spec.ts',
  'tests/contract/webhooks.spec.ts',
  'tests/webhooks-alerts.spec.ts',
  'tests/payment-pages.spec.ts',
  'tests/webhooks-bench.spec.ts',
  'apps/rail-executor/src/simulation.pg.spec.ts',
  'apps/all-in-one/src/store-calls.esdb.spec.ts',
  'libs/local-servers/src/postgres.pg.spec.ts',
  'apps/rail-executor/src/simulated-bank.pg.spec.ts',
  'apps/bank-simulator/src/bank-simulator.pg.spec.ts',
  'apps/rail-executor/src/crashes.pg.spec.ts',
  'tests/drain.spec.ts',
  'tests/cli-beside.spec.ts',
  'libs/event-store/src/kurrent/kurrent-faults.esdb.spec.ts',
  'apps/bank-simulator/src/message-desk.pg.spec.ts',
  'tests/broker-move.spec.ts',
  'apps/directory-projector/src/erasure-worker.pg.spec.ts',
  'tests/idle.spec.ts',
  'libs/bank-rails/src/rails/ach/ach-conformance.pg.spec.ts',
  'tests/fresh-clone.spec.ts',
  'libs/event-store/src/eventstoredb/eventstoredb-faults.esdb.spec.ts',
  'libs/service-kit/src/run-app.pg.spec.ts',
  'libs/local-servers/src/kafka.kafka.spec.ts',
  'apps/rail-executor/src/crash-windows.pg.spec.ts',
  'apps/rail-executor/src/open-payments.pg.spec.ts',
  'tests/demo.spec.ts',
  'tests/npm-test.spec.ts',
  'tests/dashboard-address.spec.ts',
  'tests/cli-log.spec.ts',
  'tests/store-binding.spec.ts',
  'libs/read-models/src/rebuild-swap.pg.spec.ts',
  'apps/webhook-dispatcher/src/webhook-dispatcher-faults.pg.spec.ts',
  'apps/webhook-dispatcher/src/webhook-dispatcher-isolation.pg.spec.ts',
  'libs/event-store/src/kurrent/kurrent-event-store.esdb.spec.ts',
  'apps/webhook-dispatcher/src/replay-faults.pg.spec.ts',
  'tests/reference-page.spec.ts',
  'apps/webhook-dispatcher/src/webhook-dispatcher-shared.pg.spec.ts',
  'tools/boundaries.spec.mjs',
  'apps/rail-executor/src/bank-feed-retries.pg.spec.ts',
  'apps/webhook-dispatcher/src/replay.pg.spec.ts',
  'tests/cli-organization-rails.spec.ts',
  'tests/cli-organization-retention.spec.ts',
  'apps/webhook-dispatcher/src/webhook-dispatcher.pg.spec.ts',
  'tests/loaded-packages.spec.ts',
  'apps/rail-executor/src/submissions.pg.spec.ts',
  'tests/iso20022-judge.spec.ts',
  'libs/bank-rails/src/connections/file-archive.pg.spec.ts',
  'libs/bank-rails/src/directory/directory.pg.spec.ts',
  'tests/rails-bench.spec.ts',
  'tests/key-rotation.spec.ts',
  'tests/without-linux.spec.ts',
  'apps/webhook-dispatcher/src/webhook-dispatcher-crash.pg.spec.ts',
  'apps/rail-executor/src/timers.pg.spec.ts',
  'apps/rail-executor/src/rail-executor.pg.spec.ts',
  'tests/client-webhooks.spec.ts',
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
