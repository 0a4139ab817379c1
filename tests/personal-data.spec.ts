/**
 * Where personal data lies. A whole system does everything it can with parties whose fields can be found again.
 * Then every table, topic, log, trace and metric is searched.
 */
import { randomUUID } from 'node:crypto';
import { startHttpsReceiver, until } from '@pis/local-servers/testing';
import { type Collector, startCollector } from './support/collector.js';
import {
  filePlaces,
  logPlaces,
  metricPlaces,
  type Places,
  tablePlaces,
  topicPlaces,
  withStore,
} from './support/everywhere.js';
import { type Marker, markedParty, markersIn } from './support/markers.js';
import { documentedPlaces, holdingPlaces } from './support/personal-data-places.js';
import { answering, MarkedRun, outcomes } from './support/personal-data-run.js';
import {
  allInOne,
  distributedOnEventStoreDb,
  type StartSystem,
  type System,
} from './support/systems.js';
import { sendWrongInput } from './support/wrong-input.js';

const startLimitMs = 240_000;
const runLimitMs = 420_000;
const deferralLimitMs = 240_000;
const searchLimitMs = 60_000;
const erasureLimitMs = 180_000;
/** Their payments are final. */
const erasedContacts = ['ada', 'parked', 'deferred', 'out0101', 'omar'];

it('docs/security.md lists the places that are meant to hold personal data', () => {
  expect(documentedPlaces()).toEqual(holdingPlaces.map(({ place, kinds }) => ({ place, kinds })));
});

describe('all in one, embedded', () => searched(allInOne, 'embedded'));
(process.env['PIS_TEST_KAFKA_BROKERS'] ? describe : describe.skip)(
  'separate processes on Kafka and EventStoreDB',
  () => searched(distributedOnEventStoreDb, 'kafka'),
);

function searched(start: StartSystem, broker: 'embedded' | 'kafka'): void {
  const bait = markedParty({ tag: 'bait', entityType: 'INDIVIDUAL' });
  const foreign = markedParty({ tag: 'foreign', entityType: 'INDIVIDUAL' });
  let receiver: Awaited<ReturnType<typeof startHttpsReceiver>>;
  let collector: Collector;
  let system: System;
  let run: MarkedRun;
  let answers: readonly string[];

  beforeAll(async () => {
    receiver = await startHttpsReceiver({ respondWith: answering() });
    collector = await startCollector();
    system = await start({
      ...collector.environment,
      PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
      PIS_WEBHOOK_RETRY_INITIAL_MS: '200',
      PIS_WEBHOOK_RETRY_MAX_MS: '2000',
      PIS_RAIL_CONFIRMATION_TIMEOUT_MS: '300',
      LOG_LEVEL: 'trace',
    });
    run = new MarkedRun(system, receiver);
  }, startLimitMs);
  afterAll(async () => {
    await run?.close();
    await system?.stop();
    await receiver?.close();
    await collector?.close();
  }, startLimitMs);

  it(
    'does everything that it can do with personal data',
    async () => {
      await everythingHappens(run);
      await streamIsQuarantined(run, foreign.fields);
      answers = await sendWrongInput(run, bait);
    },
    runLimitMs,
  );

  it(
    'keeps personal data in the places that are meant to hold it, and account numbers in none',
    async () => {
      const places = await storedPlaces(system);
      const markers = [...run.markers, ...bait.markers];
      expect(foundIn(places, markers)).toEqual(expectedPlaces(broker));
      // An event that somebody else wrote into a stream stays as it is, and only there.
      expect(foundIn(places, foreign.markers)).toEqual(
        ['account', 'details', 'name'].map((kind) => `events.data: ${kind}`),
      );
    },
    searchLimitMs,
  );

  it(
    'erases persons from everything but Kafka, and nobody else',
    async () => {
      for (const tag of erasedContacts)
        for (const paymentId of run.record(tag).paymentIds)
          await run.reaches(paymentId, tag === 'out0101' ? 'RETURNED' : 'COMPLETED');
      await Promise.all(erasedContacts.map((tag) => run.erase('contact', tag)));
      await run.erase('originator', 'otto');
      const erased = [...erasedContacts, 'otto'].flatMap((tag) => run.markersOf(tag));
      const kept = run.markers.filter((marker) => !erased.includes(marker));
      const tablesAndLog = async () =>
        new Map([...(await tablePlaces(system.databaseUrl)), ...(await logPlaces(system))]);
      await until(async () => foundIn(await tablesAndLog(), erased).length === 0, {
        timeoutMs: searchLimitMs,
        everyMs: 1_000,
      }).catch(async () => expect(foundIn(await tablesAndLog(), erased)).toEqual([]));
      expect(foundIn(await storedPlaces(system), [...kept, ...bait.markers])).toEqual(
        expectedPlaces(broker),
      );
      for (const tag of erasedContacts) await run.showsErased(tag);
    },
    erasureLimitMs,
  );

  it(
    'says no personal data in logs, traces, metrics, files and answers to wrong requests',
    async () => {
      const places = new Map([...(await metricPlaces(system)), ...filePlaces(system)]);
      // The last log lines and spans come while it ends.
      await run.close();
      await system.stop();
      places.set('logs', system.logs());
      places.set('stdout', system.stdout());
      places.set('traces', collector.text());
      places.set('answers', answers.join('\n'));
      const markers = [...run.markers, ...bait.markers, ...foreign.markers];
      expect(foundIn(places, markers)).toEqual([]);
      for (const span of ['POST /v1/payments', 'rail-executor pis.', 'webhook attempt'])
        expect(places.get('traces')).toContain(`"${span}`);
      expect(places.get('logs')).toContain('"level":"debug"');
      expect(places.get('/metrics')).toContain('pis_');
    },
    searchLimitMs,
  );
}

/** What a system stores: tables, the log, topics. */
async function storedPlaces(system: System): Promise<Places> {
  return new Map([
    ...(await tablePlaces(system.databaseUrl)),
    ...(await logPlaces(system)),
    ...(await topicPlaces(system)),
  ]);
}

function expectedPlaces(broker: 'embedded' | 'kafka'): readonly string[] {
  return holdingPlaces
    .filter(({ broker: only = broker }) => only === broker)
    .flatMap(({ place, kinds }) => kinds.map((kind) => `${place}: ${kind}`))
    .sort();
}

/** `place: kind` for each kind of personal data that a place holds, sorted. */
function foundIn(places: Places, markers: readonly Marker[]): readonly string[] {
  const found = [...places].flatMap(([place, text]) =>
    markersIn(text, markers).map(({ kind }) => `${place}: ${kind}`),
  );
  return [...new Set(found)].sort();
}

async function everythingHappens(run: MarkedRun): Promise<void> {
  const [ok, flaky, down, gone] = [
    await run.endpoint('ok'),
    await run.endpoint('flaky'),
    await run.endpoint('down'),
    await run.endpoint('gone'),
  ];
  expect([ok, flaky, down, gone].every(Boolean)).toBe(true);
  const olga = await run.originator('olga');
  const parked = await run.contact('parked', olga);
  const deferred = await run.contact('deferred', olga);
  await refuseEventsOf(run, parked.id, deferred.id);
  const late = [await run.pay(olga, parked), await run.pay(olga, deferred)];

  const ada = await run.contact('ada', olga);
  const before = await run.pay(olga, ada);
  await run.reaches(before, 'COMPLETED');
  const after = await run.pay(olga, await run.changed('ada', ada, 'contacts'));
  const otto = await run.originator('otto');
  const ottoId = await run.pay(otto, await run.contact('omar', otto));
  const company = await run.contact('company', olga, { entityType: 'BUSINESS' });
  const companyId = await run.pay(olga, company);
  for (const [ending, status] of Object.entries(outcomes)) {
    const contact = await run.contact(`out${ending}`, olga, { ending });
    await run.reaches(await run.pay(olga, contact), status);
  }
  await run.changed('olga', olga, 'originators');
  for (const paymentId of [after, companyId, ottoId, ...late])
    await run.reaches(paymentId, 'COMPLETED');

  await run.arrived('ok', [before, after, companyId], 3);
  await run.arrived('flaky', [before, after, companyId], 6);
  await run.arrived('gone', [before, after, companyId], 3);
  for (const paymentId of [before, companyId])
    for (const endpoint of [ok, gone, down]) await run.redeliver(endpoint, paymentId);
  const both = 'payment_id = ANY($1) HAVING count(DISTINCT payment_id) = 2';
  for (const table of ['webhook_finished_deliveries', 'webhook_deliveries'])
    await run.rows(`SELECT count(*) FROM ${table} WHERE body IS NOT NULL AND ${both}`, [
      [before, companyId],
    ]);
  await until(
    async () => {
      // The retry table is for messages that fail while others succeed.
      await run.pay(olga, ada);
      return (await run.query('SELECT FROM deferred_messages')).length > 0;
    },
    { timeoutMs: deferralLimitMs, everyMs: 2_000, what: 'a message in the retry table' },
  );
}

/** Makes the dispatcher fail to store events: permanently for one contact, and for a while for the other. */
async function refuseEventsOf(run: MarkedRun, forGood: string, forNow: string): Promise<void> {
  await run.query(
    `ALTER TABLE webhook_fan_outs ADD CONSTRAINT refused_for_good
     CHECK (body NOT LIKE '%payment.queued%${forGood}%') NOT VALID`,
  );
  await run.query(
    `CREATE FUNCTION refuse_for_now() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       IF NEW.body LIKE '%${forNow}%' THEN
         RAISE EXCEPTION 'not now' USING ERRCODE = '55P03', DETAIL = NEW.body;
       END IF;
       RETURN NEW;
     END $$`,
  );
  await run.query(
    `CREATE TRIGGER refuse_for_now BEFORE INSERT ON webhook_fan_outs
     FOR EACH ROW EXECUTE FUNCTION refuse_for_now()`,
  );
}

/** An event that no release knows, in a payment's stream, with personal data in the clear. */
async function streamIsQuarantined(
  run: MarkedRun,
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { environment, databaseUrl } = run.system;
  const streamId = `payment-${run.record('company').paymentIds[0] ?? ''}`;
  await withStore(environment, databaseUrl, async (store) => {
    const last = (await store.readStream(streamId)).at(-1);
    if (last === undefined) throw new Error(`${streamId} is empty`);
    const metadata = { ...last.metadata, schemaVersion: 99 };
    await store.append(streamId, last.revision, [
      { id: randomUUID(), type: 'PaymentQueued', data, metadata },
    ]);
  });
  await run.rows('SELECT FROM quarantined_streams WHERE stream_id = $1', [streamId]);
}
