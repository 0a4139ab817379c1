/** The tests of "Running the service" in docs/specification.md: what an operator can rely on. */
const demo = 'tests/demo.spec.ts';
const faults = 'tests/faults.spec.ts';
const cli = 'tests/cli.spec.ts';
const beside = 'tests/cli-beside.spec.ts';
const log = 'tests/cli-log.spec.ts';
const rails = 'tests/cli-rails.spec.ts';
const config = 'libs/service-kit/src/config.spec.ts';
const provisioning = 'libs/commands/src/provisioning.spec.ts';
const runApp = 'libs/service-kit/src/run-app.pg.spec.ts';
const executor = 'apps/rail-executor/src/rail-executor.module.pg.spec.ts';

const session = [
  'tests/readme.spec.ts',
  'the first session of the README works as it is written, and Ctrl-C leaves nothing behind',
];
const readyLine = [
  faults,
  'the ready line has only working pages, and neither SIGTERM nor SIGKILL of the launcher leaves a process behind',
];
const waitingApp = [
  faults,
  'an app without its database serves its health, names the database as missing, and becomes ready when it exists',
];
const mainJob = [
  'tests/main-job.spec.ts',
  'a payment is accepted, executed, and announced by three signed webhooks',
];
const firstKey = [provisioning, 'has two originators and one key, shown by the first start alone'];
const keys = [cli, 'a key is shown once, listed without its value, and revoked permanently'];
const firstCommand = [
  'tests/fresh-clone.spec.ts',
  'the first command of the distributed way works, and asks npm for the locked packages only',
];
const erasure = 'tests/erasure.spec.ts';
const erasedEverywhere = [
  erasure,
  'erases somebody from lists, payments, events, deliveries and tables, and leaves the payments',
];
const erasureRefused = [
  erasure,
  'is refused while a payment is not final or the retention period runs, and needs a known contact',
];
const retention = 'tests/cli-organization-retention.spec.ts';
const retentionSet = [
  retention,
  'is that of the installation until it is set, and again by --default, recorded',
];
const retentionRefused = [
  retention,
  'refuses what is no period, and an organization that does not exist',
];
const retentionKept = [
  erasure,
  "keeps to the retention period of the contact's organization, not to that of the installation",
];
const projections = [beside, 'projections are listed, and rebuilt while the system runs'];
const carried = [
  log,
  'consumers export and import carry checkpoints, and refuse those of another log',
];

export const running = {
  'start-1': [session],
  'start-2': [[config, 'an empty environment is a working sandbox'], session],
  'start-3': [
    [
      'tools/test-run.spec.mjs',
      'ends with a line that sums all reports, including a suite that could not run',
    ],
  ],
  'start-4': [waitingApp, [config, 'an app reports a missing required variable'], mainJob],
  'start-5': [
    [runApp, 'serves metrics and health on the same port if only the cluster can reach it'],
  ],
  'start-7': [
    mainJob,
    [
      'tests/broker-move.spec.ts',
      'executes and delivers everything once while it moves to Kafka and back',
    ],
  ],
  'start-8': [firstKey],
  'start-12': [
    [demo, 'shows a payment in every status, in both directions, to the user of the ready line'],
    [
      'libs/commands/src/demo-payments.spec.ts',
      'a start that was cut off at any step is completed by the next one, and nothing is made twice',
    ],
  ],
  'ready-1': [
    readyLine,
    [
      'apps/all-in-one/src/ready-line.spec.ts',
      'one line begins with {"ready":true and contains everything for a first call',
    ],
    firstKey,
  ],
  'ready-2': [
    [demo, 'shows a payment in every status, in both directions, to the user of the ready line'],
    [
      demo,
      'a later start shows no password and makes no payments, and a new password is one command away',
    ],
  ],
  'ready-3': [waitingApp],
  'ready-4': [readyLine],
  'stop-1': [
    readyLine,
    session,
    [
      'tests/drain.spec.ts',
      '%s that gets SIGTERM under load answers all accepted requests, and ends in time with code 0',
    ],
  ],
  'stop-2': [
    [
      faults,
      'a kill -9 of the whole tree during a burst of creates loses nothing that was answered, and sends nothing twice',
    ],
  ],
  'stop-3': [
    [
      faults,
      'while the embedded PostgreSQL is dead, requests get 503 with the envelope, and succeed after its restart',
    ],
  ],
  'environment-1': [
    [config, 'all bad variables are reported at once'],
    [faults, 'bad configuration is one message that names every bad variable, exit code 1'],
  ],
  'environment-2': [
    ['tools/env-example.spec.mjs', 'names every variable the apps read, once, and no other'],
    ['tools/env-example.spec.mjs', 'sets %s to %s, which is its default'],
  ],
  'variable-1': [
    [
      faults,
      'a port in use is reported clearly with exit code 1, and the embedded PostgreSQL is stopped',
    ],
  ],
  'variable-2': [
    [runApp, 'listens on %s'],
    [
      'apps/all-in-one/src/all-in-one-app.spec.ts',
      'listens only on this machine by default, and no single app does',
    ],
  ],
  'variable-3': [
    [
      'apps/api-gateway/src/http.pg.spec.ts',
      'that are revoked or of another environment are refused',
    ],
  ],
  'variable-4': [
    [faults, 'a second start on the same data directory is refused and does not disturb the first'],
    [faults, 'a data directory without write access is reported clearly with exit code 1'],
  ],
  'variable-5': [waitingApp, mainJob],
  'variable-6': [mainJob],
  'variable-7': [
    [
      'libs/event-store/src/eventstoredb/connection-string.spec.ts',
      'accepts everything that the client accepts',
    ],
    [
      config,
      'EventStoreDB may be a cluster, and its credentials are not shown when the address is wrong',
    ],
  ],
  'variable-8': [[config, 'EventStoreDB has two clients, and any other name is refused']],
  'variable-9': [
    ['libs/event-store/src/testing/server-faults.ts', 'keeps two namespaces on one server apart'],
  ],
  'variable-10': [
    [
      'apps/api-gateway/src/request-time-limit.spec.ts',
      'a payment with a hanging append is answered 503, and the same key shows that it was created',
    ],
  ],
  'variable-11': [
    [
      'tests/broker-move.spec.ts',
      'executes and delivers everything once while it moves to Kafka and back',
    ],
  ],
  'variable-12': [[config, 'KAFKA_BROKERS is a list'], mainJob],
  'variable-13': [
    [
      'libs/messaging/src/kafka-security.kafka.spec.ts',
      'a user with a password by %s publishes and consumes over TLS',
    ],
    [
      'libs/messaging/src/kafka-security.kafka.spec.ts',
      'a client with a certificate publishes and consumes',
    ],
  ],
  'variable-14': [['apps/all-in-one/src/ready-line.spec.ts', 'links follow the public address']],
  'variable-15': [
    [provisioning, 'takes a given value as its first key'],
    [config, 'a first key given in the environment is refused in production'],
  ],
  'variable-16': [
    [config, 'all bad variables are reported at once'],
    [
      'libs/keyring/src/keyring.spec.ts',
      'refuses a master key of the wrong length, and one that is given twice',
    ],
    [
      'libs/keyring/src/keyring.spec.ts',
      'waits for a master key that the process does not have, and names it',
    ],
  ],
  'variable-17': [
    [config, 'come from a variable or from a file, the active one first'],
    [
      'libs/keyring/src/rotation.pg.spec.ts',
      'wraps everything anew, old events included, so that the old key can be taken out',
    ],
  ],
  'variable-18': [
    [
      'libs/webhooks/src/webhook-url.spec.ts',
      'may use localhost where the operator exempts it, whichever addresses it has',
    ],
  ],
  'variable-19': [
    session,
    [
      'apps/webhook-dispatcher/src/webhook-dispatcher.module.pg.spec.ts',
      'does not start with a CA file that cannot be read, and says which variable is wrong',
    ],
    ['libs/service-kit/src/webhook-receiver-ca.spec.ts', 'refuses a file with %s'],
  ],
  'variable-20': [
    [
      'apps/webhook-dispatcher/src/webhook-dispatcher.pg.spec.ts',
      'is retried on time when the pause is shorter than the sleep of the dispatcher',
    ],
    ['libs/webhooks/src/retry-schedule.spec.ts', 'at a cap, whatever the number of attempts'],
    ['tests/contract/webhook-numbers.spec.ts', 'limit-7 gives a receiver 30 seconds to respond'],
  ],
  'variable-21': [
    [
      'apps/webhook-dispatcher/src/webhook-dispatcher.pg.spec.ts',
      'that never succeeds is given up when the window is over, and not before',
    ],
    [
      'apps/webhook-dispatcher/src/statement-deliveries.pg.spec.ts',
      'is attempted on its fourteenth day, and not after that',
    ],
  ],
  'variable-22': [[executor, 'is the configured time in both environments']],
  'variable-23': [
    [executor, 'does not start without a connection to a bank'],
    [config, 'production has no simulated bank'],
    mainJob,
  ],
  'variable-24': [
    ['libs/bank-rails/src/connections/banks-file.spec.ts', 'reads the sample of the documentation'],
    [config, 'production has no simulated bank'],
  ],
  'variable-28': [
    [
      'libs/service-kit/src/audit-key.spec.ts',
      'the sandbox creates an audit key once, and production refuses to start without one',
    ],
  ],
  'variable-27': [
    ['libs/documents/src/document-place.spec.ts', 'names PostgreSQL, or a bucket with a prefix'],
    [
      'libs/documents/src/s3-documents.pg.spec.ts',
      'fails while the server is gone, starts without it, and has everything when it is back',
    ],
  ],
  'variable-29': [
    [executor, 'is two seconds and the simulated delay in the sandbox'],
    ['apps/bank-simulator/src/bank-simulator.pg.spec.ts', 'delays each step as configured'],
  ],
  'variable-30': [
    [
      'apps/api-gateway/src/http.pg.spec.ts',
      'get 429 with Retry-After before any other check, while others are served',
    ],
    ['apps/api-gateway/src/http-headers.spec.ts', 'is missing without a key or a limit'],
  ],
  'variable-31': [
    [
      'libs/service-kit/src/tracing-export.spec.ts',
      'sends the remaining spans when the app ends, under the name of the app and with the attributes of the installation',
    ],
    [
      'libs/service-kit/src/tracing-off.spec.ts',
      'without an endpoint no SDK is loaded, nothing is recorded, and work runs as usual',
    ],
  ],
  'path-2': [
    ['apps/api-gateway/src/reference.pg.spec.ts', 'is the committed document, without a key'],
    [
      'tests/reference-page.spec.ts',
      'shows every operation of the document, and uses no other host',
    ],
  ],
  'path-4': [
    [demo, 'shows a payment in every status, in both directions, to the user of the ready line'],
  ],
  'path-5': [
    ['libs/service-kit/src/health.spec.ts', 'names each dependency, with the reason if it is down'],
    waitingApp,
  ],
  'path-6': [
    [
      runApp,
      'with a public port serves its metrics there in the sandbox, and on a separate port in production',
    ],
  ],
  'variable-32': [
    ['libs/service-kit/src/logging.spec.ts', 'LOG_LEVEL=%s writes lines from level %s up'],
  ],
  'command-1': [firstCommand],
  'command-2': [projections],
  'command-3': [
    [cli, 'every command has help, and an unknown one is refused with the list of commands'],
    [cli, 'prints readable lines without --json'],
    [
      cli,
      'each reason for a missing database is reported: not configured, not reachable, not migrated',
    ],
  ],
  'command-4': [[cli, 'an originator is created from a file'], mainJob],
  'command-5': [
    [cli, 'an originator is created from a file'],
    [cli, 'an invalid originator file is refused with every problem, without account numbers'],
  ],
  'command-6': [keys, [cli, 'a key with a past expiry or an unknown type is refused']],
  'command-7': [keys],
  'command-8': [
    [
      'tests/cli-users.spec.ts',
      'a user is created with the password on stdin, listed, reset and disabled',
    ],
    [
      'tests/cli-users.spec.ts',
      'a password is generated and printed once when there is none on stdin',
    ],
  ],
  'command-17': [
    ['tests/cli-routing-directory.spec.ts', 'imports a list, says what it read, and records it'],
    [
      'tests/cli-routing-directory.spec.ts',
      'names the line and column of a row that it refuses, and imports the others',
    ],
  ],
  'command-9': [firstCommand, waitingApp],
  'command-29': [retentionSet, retentionRefused],
  'command-10': [
    [beside, 'topics are created once, and a second run reports that nothing is left to do'],
  ],
  'command-11': [projections],
  'command-12': [
    [
      'tests/cli-audit.spec.ts',
      'audit verify says that a whole log holds, also against a kept checkpoint',
    ],
    ['tests/cli-audit.spec.ts', 'audit show tells what was known at a time'],
    ['tests/cli-audit.spec.ts', 'an auditor follows docs/audit.md, and the proofs in the PDF hold'],
  ],
  'command-14': [['tests/cli-webhooks.spec.ts', 'sends a delivery again under its own id']],
  'command-16': [erasedEverywhere, [erasure, 'can be repeated']],
  'variable-26': [
    erasureRefused,
    retentionKept,
    [
      'libs/commands/src/party-erasure.spec.ts',
      'is refused until the retention period of its last payment has ended, unless that is overridden',
    ],
  ],
  'erasure-1': [
    erasureRefused,
    retentionKept,
    [
      'libs/commands/src/party-erasure.spec.ts',
      'records who asked for it, why, and that the retention period was overridden',
    ],
  ],
  'erasure-2': [erasedEverywhere],
  'erasure-3': [erasedEverywhere],
  'erasure-4': [erasedEverywhere],
  'erasure-5': [
    erasedEverywhere,
    [
      'apps/cli/src/erasure.spec.ts',
      'the waits of an erasure leave three of its ten seconds for its work',
    ],
    [
      'apps/cli/src/erasure.spec.ts',
      'an erasure is recorded only when no process uses the keys any more',
    ],
  ],
  'erasure-6': [
    [erasure, 'is refused for a business, and erases an individual beside the contacts'],
  ],
  'erasure-7': [
    ['tests/cli-keys.spec.ts', 'is told what depends on the old key, rotates it, and takes it out'],
  ],
  'erasure-8': [
    retentionSet,
    retentionRefused,
    retentionKept,
    [
      'apps/rail-executor/src/archive-upkeep.pg.spec.ts',
      'deletes a file after the longest of the periods of the organizations in it',
    ],
  ],
  'command-20': [
    [
      'tests/cli-rail-files.spec.ts',
      'lists the files of a payment, and shows the exact bytes of one, recorded',
    ],
  ],
  'command-19': [
    [
      'tests/cli-payments.spec.ts',
      'lists payments in doubt with everything known, and leaves out the others',
    ],
  ],
  'variable-25': [
    [
      'apps/rail-executor/src/staff/staff.pg.spec.ts',
      'a payment in doubt is told by mail and to the chat, without personal data',
    ],
  ],
  'command-18': [
    [rails, 'lists unmatched notifications, and retries one or all of them, recorded'],
    [
      rails,
      'takes a notification that staff has dealt with off the list, recorded with the reason',
    ],
  ],
  'command-21': [['tests/cli-sandbox.spec.ts', 'lists one entry per execution']],
  'command-27': [
    ['tests/rails.spec.ts', 'the statements of the bank as %s reconcile without a finding'],
    ['tests/rails.spec.ts', 'what is altered in the statements of the bank is found'],
  ],
  'command-28': [
    [
      'tests/cli-payments.spec.ts',
      'payments wait, staff settle them by the books of the bank, and the others go afterwards',
    ],
    [
      'apps/rail-executor/src/restored.pg.spec.ts',
      'entries that were filed after the dump are not filed again until an operator resumes',
    ],
  ],
  'command-23': [
    [log, 'relay rewind moves the relay, recorded with actor and reason'],
    [beside, 'a part of the log is published again, with the number of omitted events'],
  ],
  'command-15': [
    ['tests/cli-keys.spec.ts', 'is told what depends on the old key, rotates it, and takes it out'],
  ],
  'command-24': [carried],
  'command-25': [
    [log, 'consumers reset accepts a position or a time, and reports what will be read'],
  ],
  'command-26': [
    [
      'tests/cli-event-store.spec.ts',
      'check reports the missing right, apply grants it, and then check succeeds',
    ],
  ],
};
