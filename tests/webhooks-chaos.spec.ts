/**
 * Webhooks while dispatchers, PostgreSQL or the broker die. Each event always reaches each endpoint. It arrives
 * twice only if it was under way when its dispatcher was killed, and then with the same IDs and bytes.
 */
import { until } from '@pis/local-servers/testing';
import type { RunningProcess } from './support/process.js';
import {
  Books,
  type ChaosSystem,
  PaymentStream,
  startChaosSystem,
} from './support/webhook-chaos.js';

const startLimitMs = 240_000;
const testLimitMs = 180_000;
/** Longer than the lease of a dead dispatcher, and than the session timeout of a dead consumer. */
const arrivalLimitMs = 90_000;
/** The lease of a dead dispatcher, plus some seconds. */
const settings = { PIS_WEBHOOK_TIMEOUT_MS: '5000', PIS_WEBHOOK_RETRY_INITIAL_MS: '200' };
/** Longer than it takes to notice a request and to kill its dispatcher, on a busy machine. */
const patientLease = { PIS_WEBHOOK_TIMEOUT_MS: '20000' };
/** For dispatchers that live on: longer than a restart of PostgreSQL or the broker on a busy machine. */
const longLease = { PIS_WEBHOOK_TIMEOUT_MS: '30000' };

let system: ChaosSystem;
let books: Books;
let dispatchers: RunningProcess[] = [];

async function start(more: Readonly<Record<string, string>> = {}): Promise<RunningProcess> {
  const dispatcher = await system.startDispatcher(more);
  dispatchers.push(dispatcher);
  return dispatcher;
}

function aroundEach(onKafka: boolean): void {
  beforeAll(async () => {
    system = await startChaosSystem({ onKafka, settings });
  }, startLimitMs);
  afterAll(() => system?.stop(), startLimitMs);
  beforeEach(() => {
    dispatchers = [];
    books = new Books(system);
    books.answer();
  });
  afterEach(async () => {
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.stop()));
    await books?.unsubscribeAll();
  }, startLimitMs);
}

/** Two endpoints, and a stream of payments for both. */
async function twoEndpoints(): Promise<{ paths: readonly string[]; stream: PaymentStream }> {
  const paths = [await books.subscribe(), await books.subscribe()];
  const delivered = () => Math.min(...paths.map((path) => books.taken(path).size));
  return { paths, stream: new PaymentStream(system, delivered) };
}

/** Ends the stream, and checks that every event arrives at all endpoints with a valid signature. */
async function expectAllArrive(paths: readonly string[], stream: PaymentStream): Promise<void> {
  await stream.end();
  const missing = () =>
    paths.flatMap((path) => {
      const taken = books.taken(path);
      return stream.paymentIds.filter((paymentId) => !taken.has(paymentId));
    });
  await until(() => missing().length === 0, { timeoutMs: arrivalLimitMs, everyMs: 100 }).catch(
    (error: unknown) => {
      throw new Error(`never arrived: ${missing().join(' ')}`, { cause: error });
    },
  );
  books.expectSound();
}

async function metric({ ready }: RunningProcess, name: string): Promise<number> {
  const text = await (await fetch(`${String(ready['url'])}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

function succeeded(dispatcher: RunningProcess): Promise<number> {
  return metric(dispatcher, 'pis_webhook_delivery_seconds_count');
}

function inFlight(dispatcher: RunningProcess): Promise<number> {
  return metric(dispatcher, 'pis_webhook_in_flight');
}

/** Kills it after `requests` more requests, before the last of them is answered. */
function killedAtRequest(dispatcher: RunningProcess, countdown: number): Promise<void> {
  let left = countdown;
  return new Promise((resolve, reject) => {
    books.answer(() => {
      left -= 1;
      if (left === 0) dispatcher.kill().then(resolve, reject);
      return {};
    });
  });
}

/** Kills it during requests that are never answered. */
async function killedInMidFlight(dispatcher: RunningProcess, open: number): Promise<void> {
  let held = 0;
  books.answer(() => {
    held += 1;
    return { hang: true };
  });
  await until(() => held >= open, { timeoutMs: arrivalLimitMs });
  await dispatcher.kill();
}

/** Kills it just after an answer of the receiver, before the result is recorded. */
function killedAfterAnswer(dispatcher: RunningProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    books.answer(() => {
      setImmediate(() => void dispatcher.kill().then(resolve, reject));
      return {};
    });
  });
}

const openWhenKilled = 4;
/** The same numbers in every run. Their effect on the timing depends on the machine. */
const randomCountdowns = [37, 5, 71];

const moments: readonly ((dispatcher: RunningProcess) => Promise<void>)[] = [
  (dispatcher) => dispatcher.kill(),
  (dispatcher) => killedAtRequest(dispatcher, 1),
  (dispatcher) => killedInMidFlight(dispatcher, openWhenKilled),
  (dispatcher) => killedAfterAnswer(dispatcher),
  ...randomCountdowns.map(
    (countdown) => (dispatcher: RunningProcess) => killedAtRequest(dispatcher, countdown),
  ),
];

describe('on the embedded broker', () => {
  aroundEach(false);

  it(
    'a dispatcher that is killed repeatedly delivers every event, and twice only those under way',
    async () => {
      const { paths, stream } = await twoEndpoints();
      const killedWith = new Map<string, number>();
      for (const dies of moments) {
        const dispatcher = await start();
        await dies(dispatcher);
        books.answer();
        for (const id of await books.underWay()) killedWith.set(id, (killedWith.get(id) ?? 0) + 1);
      }
      // Otherwise it was always idle when it was killed.
      expect(killedWith.size).toBeGreaterThanOrEqual(openWhenKilled);
      await start();
      await stream.grown(20);
      await expectAllArrive(paths, stream);
      for (const [id, times] of books.takenAgain())
        expect({ id, extra: times - 1 <= (killedWith.get(id) ?? 0) }).toEqual({ id, extra: true });
    },
    testLimitMs,
  );

  it(
    'a crash or a restart of PostgreSQL causes no lost event and no second delivery',
    async () => {
      const { paths, stream } = await twoEndpoints();
      await start(longLease);
      await stream.grown(40);
      const { pid } = system.server.postgres;
      process.kill(pid, 'SIGKILL');
      await until(() => system.server.postgres.pid !== pid && system.server.postgres.alive(), {
        timeoutMs: arrivalLimitMs,
      });
      await stream.grown(40);
      await system.restartPostgres();
      await stream.grown(40);
      await expectAllArrive(paths, stream);
      expect([...books.takenAgain()]).toEqual([]);
    },
    testLimitMs,
  );

  it(
    'an endpoint that hangs with 1,500 waiting events does not delay another endpoint',
    async () => {
      const stuck = 1_500;
      const hanging = await books.subscribe();
      books.answer(({ path }) => ({ hang: path === hanging }));
      const before = new PaymentStream(system, () => 0, { workers: 16, aheadMax: stuck });
      await until(() => before.paymentIds.length >= stuck, { timeoutMs: arrivalLimitMs });
      await before.end();

      const patience = { PIS_WEBHOOK_TIMEOUT_MS: String(testLimitMs) };
      await start(patience);
      await until(() => books.arrivals.size > 0, { timeoutMs: arrivalLimitMs });
      const healthy = await books.subscribe();
      const after = new PaymentStream(system, () => books.taken(healthy).size);
      await after.grown(200);
      await expectAllArrive([healthy], after);

      // None of its attempts has ended meanwhile, and all its deliveries are still pending.
      expect(await books.stateOf(hanging)).toEqual({
        pending: before.paymentIds.length + after.paymentIds.length,
        attempts: 0,
      });
      expect([...books.takenAgain()]).toEqual([]);
    },
    testLimitMs,
  );
});

/** Skipped, and counted as skipped, without a broker. */
(process.env['PIS_TEST_KAFKA_BROKERS'] ? describe : describe.skip)('on Kafka', () => {
  aroundEach(true);

  it(
    'when one of three dispatchers is killed, the others deliver the rest, and twice only its events under way',
    async () => {
      const { paths, stream } = await twoEndpoints();
      const three = await Promise.all([1, 2, 3].map(() => start(patientLease)));
      await until(async () => Math.min(...(await Promise.all(three.map(succeeded)))) > 0, {
        timeoutMs: arrivalLimitMs,
        what: 'all three to have delivered',
      });
      expect([...books.takenAgain()]).toEqual([]);
      let hanging = 0;
      books.answer(() => {
        hanging += 1;
        return { hang: true };
      });
      // It dies during a request that arrived: the receiver has all that the three count. Which of them took the last
      // events before the stream waits for deliveries is chance.
      const victim = await until(
        async () => {
          const counts = await Promise.all(three.map(inFlight));
          const isSettled = hanging > 0 && counts.reduce((sum, n) => sum + n) === hanging;
          return isSettled && three[counts.indexOf(Math.max(...counts))];
        },
        { timeoutMs: arrivalLimitMs, what: 'requests that hang' },
      );
      await victim.kill();
      const killedWith = await books.underWay();
      expect(killedWith.size).toBeGreaterThan(0);
      books.answer();
      await stream.grown(20);
      await expectAllArrive(paths, stream);
      for (const [id, times] of books.takenAgain()) {
        expect(killedWith).toContain(id);
        expect(times).toBe(2);
      }
    },
    testLimitMs,
  );

  it(
    'a crash of the broker causes no lost event and no second delivery',
    async () => {
      const { paths, stream } = await twoEndpoints();
      await start(longLease);
      await stream.grown(40);
      await system.kafka?.kill();
      await system.kafka?.restart();
      await stream.grown(40);
      await expectAllArrive(paths, stream);
      expect([...books.takenAgain()]).toEqual([]);
    },
    testLimitMs,
  );
});
