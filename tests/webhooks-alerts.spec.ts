/**
 * Checks the alerts on webhooks against the metrics of running processes and against their runbook.
 */
import { until } from '@pis/local-servers/testing';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { spawnSync } from 'node:child_process';
import { type RunningProcess, runCommand } from './support/process.js';
import {
  defaultOf,
  groupLabelsOf,
  loggingSource,
  missingIn,
  provenAlerts,
  readAlerts,
  readRunbook,
  rulesFile,
  rulesTestFile,
  runbookPath,
  type Sample,
  scrape,
} from './support/webhook-alerts.js';
import { Books, type ChaosSystem, startChaosSystem } from './support/webhook-chaos.js';

const startLimitMs = 240_000;
const shownLimitMs = 60_000;
const group = 'webhook-dispatcher';
const topic = 'pis.payment-events.v1';

const alerts = readAlerts();
const runbook = readRunbook();

it('each alert has a severity, a meaning, and only labels that it has', () => {
  for (const { alert, expr, labels, annotations } of alerts) {
    const { severity } = labels;
    expect({ alert, isKnown: ['critical', 'warning'].includes(severity ?? '') }).toEqual({
      alert,
      isKnown: true,
    });
    const { summary = '', description = '' } = annotations;
    for (const text of [summary, description]) expect(text).toMatch(/\w.*\.$/);
    const named = [...description.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
    expect({ alert, labels: groupLabelsOf(expr) }).toEqual({
      alert,
      labels: expect.arrayContaining(named) as string[],
    });
  }
});

it('each alert links to its section of the runbook, and each section belongs to an alert', () => {
  expect(runbook.sections).toEqual(alerts.map(({ alert }) => alert));
  for (const { alert, annotations } of alerts)
    expect(annotations['runbook_url']).toBe(`${runbookPath}#${alert.toLowerCase()}`);
});

it('the log messages in the runbook are those of the code', () => {
  const source = loggingSource();
  expect(runbook.logged.length).toBeGreaterThan(3);
  expect(runbook.logged.filter((words) => !source.includes(words))).toEqual([]);
});

it('the alert on retention leaves three days with the default retention', () => {
  const { expr } = alerts.find(({ alert }) => alert === 'PisWebhookRetentionNotKept') ?? {};
  const days = Number(/> (\d+) \* 86400$/.exec(expr ?? '')?.[1]);
  expect(days).toBe(Number(defaultOf('PIS_WEBHOOK_RETENTION_DAYS')) + 3);
});

it('each alert has a test case in which it fires', () => {
  expect([...provenAlerts()].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
});

/** Skipped, and counted as skipped, where Prometheus' own tool is not installed. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
(hasPromtool ? it : it.skip)(
  'the alerts fire exactly when they should',
  async () => {
    for (const args of [
      ['check', 'rules', rulesFile],
      ['test', 'rules', rulesTestFile],
    ]) {
      const { code, stdout, stderr } = await runCommand('promtool', args, { env: {}, cwd: '/' });
      expect({ code, output: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, output: '' });
    }
  },
  shownLimitMs,
);

describe('beside the running system', () => {
  const onKafka = Boolean(process.env['PIS_TEST_KAFKA_BROKERS']);
  let system: ChaosSystem;
  let dispatcher: RunningProcess;

  beforeAll(async () => {
    system = await startChaosSystem({ onKafka, settings: {} });
    dispatcher = await system.startDispatcher();
  }, startLimitMs);
  afterAll(() => system?.stop(), startLimitMs);

  async function samples(): Promise<readonly Sample[]> {
    const processes = [dispatcher, ...(system.relay === null ? [] : [system.relay])];
    const scraped = await Promise.all(processes.map(({ ready }) => scrape(String(ready['url']))));
    // Without Kafka there is no relay, so its metrics cannot be checked.
    return system.relay === null ? [...scraped.flat(), relayed] : scraped.flat();
  }

  it(
    'the alerts use only metrics, labels and values that the processes report',
    async () => {
      const books = new Books(system);
      const failing = await books.subscribe();
      const healthy = await books.subscribe();
      books.answer(({ path }) => ({ status: path === failing ? 500 : 200 }));
      await system.api.createPayment(system.payment, 'of-the-alerts');
      await sendNonsense(system);
      const missing = async () => {
        const shown = await samples();
        return alerts.flatMap(({ alert, expr }) =>
          missingIn(expr, shown).map((what) => `${alert}: ${what}`),
        );
      };
      await until(async () => (await missing()).length === 0, {
        timeoutMs: shownLimitMs,
        everyMs: 200,
      }).catch(async () => expect(await missing()).toEqual([]));
      expect(books.taken(healthy).size).toBe(1);
    },
    startLimitMs,
  );

  it('an alert with an unknown metric, label or value is detected', async () => {
    const shown = await samples();
    const wrong = [
      'max(pis_webhook_backlogs) > 1',
      'max(pis_webhook_backlog{status="due"}) > 1',
      'max(pis_webhook_backlog{state="late"}) > 1',
      'max by (endpoint) (pis_webhook_backlog{state!="due"}) > 1',
      'max(up) > 1',
    ];
    expect(wrong.map((expr) => missingIn(expr, shown))).toEqual([
      ['pis_webhook_backlogs'],
      ['pis_webhook_backlog{status="due"}'],
      ['pis_webhook_backlog{state="late"}'],
      ['by (endpoint)'],
      ['no metric of ours in max(up) > 1'],
    ]);
  });

  it("the runbook's queries run, and the metrics that it names exist", async () => {
    expect(runbook.queries.length).toBeGreaterThan(3);
    for (const query of runbook.queries) await system.pool.query(query);
    const shown = new Set((await samples()).map(({ name }) => name.replace(/_bucket$/, '')));
    const isShown = (metric: string) => shown.has(metric) || shown.has(`${metric}_count`);
    expect(runbook.metrics.filter((metric) => !isShown(metric))).toEqual([]);
  });
});

const relayed: Sample = { name: 'pis_relay_published_total', labels: { topic } };

/** A message that no handler can process. */
async function sendNonsense({ kafka, pool }: ChaosSystem): Promise<void> {
  if (kafka === null) {
    // The embedded broker takes only our events, so this inserts a dead letter that is replayed.
    await pool.query(
      `INSERT INTO dead_letters (consumer_group, topic, key, value, headers, "offset", attempts,
           error, parked_at, replay_requested_at)
         VALUES ($1, $2, 'nonsense', '{}', '{}', '0', 1, 'nonsense', now(), now())`,
      [group, topic],
    );
    return;
  }
  const client = new Kafka({ brokers: [...kafka.brokers], logLevel: logLevel.NOTHING });
  const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  await producer.send({ topic, messages: [{ key: 'nonsense', value: '{}' }] });
  await producer.disconnect();
}
