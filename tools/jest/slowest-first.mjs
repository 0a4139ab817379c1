/**
 * Jest's order of test files: those first that take longest, so that no long one ends alone while the other
 * workers have nothing to do. Jest remembers the durations of its last run. A fresh clone has none, and Jest
 * then takes the size of a file for its duration, which is wrong for short files that start whole systems.
 */
import { relative } from 'node:path';
import TestSequencer from '@jest/test-sequencer';
import { root } from '../workspace.mjs';

/** The files that take more than 40 s on two cores, longest first. Others follow in Jest's own order. */
export const slowest = [
  'tests/payment-pages-views.spec.ts',
  'tests/personal-data-distributed.spec.ts',
  'tests/webhooks-chaos.spec.ts',
  'tests/main-job.spec.ts',
  'tests/rails-chaos.spec.ts',
  'tests/personal-data.spec.ts',
  'libs/messaging/src/kafka-soak.kafka.spec.ts',
  'tests/erasure.spec.ts',
  'tests/idle.spec.ts',
  'tests/collections-chaos.spec.ts',
  'tests/payment-links.spec.ts',
  'tests/dashboard-accessibility.spec.ts',
  'tests/previous-release.spec.ts',
  'tests/cost-bench.spec.ts',
  'tests/helm-run.spec.ts',
  'tests/replicas.spec.ts',
  'tests/all-in-one-bank.spec.ts',
  'tests/event-store-bench.spec.ts',
  'tests/erasure-two-gateways.spec.ts',
  'tests/bundle.spec.ts',
  'tests/dashboard-long-lists.spec.ts',
  'tests/cli-audit.spec.ts',
  'apps/rail-executor/src/simulation.pg.spec.ts',
  'tests/dashboard-parties.spec.ts',
  'tests/dashboard-approvals.spec.ts',
  'tests/contract/api.spec.ts',
  'tests/dashboard-hostile-text.spec.ts',
  'tests/dashboard-security.spec.ts',
  'tests/dashboard-payment-page.spec.ts',
  'tests/dashboard-accounts.spec.ts',
  'tests/cli.spec.ts',
  'apps/rail-executor/src/crashes.pg.spec.ts',
  'tests/tracing.spec.ts',
  'tests/dashboard-overview.spec.ts',
  'libs/messaging/src/kafka-faults.kafka.spec.ts',
  'tests/cli-payments.spec.ts',
  'tests/cli-webhooks.spec.ts',
  'tests/alerts.spec.ts',
  'tests/dashboard-journey.spec.ts',
  'apps/dashboard/src/live.pg.spec.ts',
  'tests/dashboard-webhooks.spec.ts',
  'tests/cli-beside.spec.ts',
  'tests/rails.spec.ts',
  'tests/faults.spec.ts',
  'tests/webhooks-bench.spec.ts',
  'tests/dashboard-fees.spec.ts',
  'tests/statement-month.spec.ts',
  'apps/all-in-one/src/store-calls.esdb.spec.ts',
  'apps/rail-executor/src/several-banks.pg.spec.ts',
  'tools/boundaries.spec.mjs',
  'tests/cli-users.spec.ts',
  'apps/directory-projector/src/erasure-worker.pg.spec.ts',
  'tests/cli-organization-retention.spec.ts',
  'tests/webhooks-alerts.spec.ts',
  'tests/openapi/schemathesis.spec.ts',
  'libs/local-servers/src/postgres.pg.spec.ts',
  'apps/webhook-dispatcher/src/webhook-dispatcher-kill.pg.spec.ts',
  'tests/dashboard-sandbox-controls.spec.ts',
  'tests/cli-statements.spec.ts',
  'tests/kafka-lost.spec.ts',
  'tests/dashboard-exports.spec.ts',
  'tests/dashboard-screens.spec.ts',
  'libs/statements/src/twin-writers.pg.spec.ts',
  'tests/drain.spec.ts',
  'libs/messaging/src/kafka-security.kafka.spec.ts',
  'tests/dashboard-roles.spec.ts',
  'tests/iso20022-judge.spec.ts',
  'tests/contract/webhooks.spec.ts',
  'apps/dashboard/src/user-actions.pg.spec.ts',
  'libs/event-store/src/kurrent/kurrent-faults.esdb.spec.ts',
  'tests/rails-prenotes.spec.ts',
  'tests/cli-rail-files.spec.ts',
  'tests/point-in-time.spec.ts',
  'libs/postgres/src/migrate.pg.spec.ts',
  'tests/dashboard.spec.ts',
  'tests/cli-rails.spec.ts',
  'tests/tracing-bench.spec.ts',
  'tests/dashboard-names.spec.ts',
  'apps/rail-executor/src/simulated-bank.pg.spec.ts',
  'tests/helm-schemas.spec.ts',
  'tests/database-connections.spec.ts',
  'tests/broker-move.spec.ts',
  'tests/collections.spec.ts',
  'tests/payment-pages.spec.ts',
  'tests/steady-bench.spec.ts',
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
