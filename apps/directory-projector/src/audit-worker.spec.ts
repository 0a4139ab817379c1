import { AuditBroken } from '@pis/audit';
import { StoreUnavailable } from '@pis/event-store';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { Bell, type Logger } from '@pis/service-kit';
import { testMetrics } from '@pis/service-kit/testing';
import { AuditWorker } from './audit-worker.js';

const atEnd = closeAfterEach();

const timeoutMs = 20_000;

/** A worker on a log that behaves as `state` says, which a test changes. */
function started(idleMs = 1) {
  const state = {
    ...{ error: null as Error | null, hasUnsigned: false, isBroken: false },
    ...{ nowMs: 0, rounds: 0 },
  };
  const audit = {
    async round() {
      state.rounds += 1;
      if (state.error !== null) throw state.error;
      return false;
    },
    get hasUnsigned() {
      return state.hasUnsigned;
    },
    get isBroken() {
      return state.isBroken;
    },
  };
  const lines: string[] = [];
  const line = (level: string) => (_fields: unknown, text?: string) =>
    void lines.push(`${level}: ${text ?? String(_fields)}`);
  const logger = { info: line('info'), warn: line('warn'), error: line('error') };
  const metrics = testMetrics();
  const wakeUp = { bell: new Bell(), idleMs: () => idleMs };
  const worker = new AuditWorker({
    ...{ audit, wakeUp, metrics, nowMs: () => state.nowMs },
    logger: logger as unknown as Logger,
    pauses: { pollMs: 1, retryMs: 1, brokenRetryMs: 1 },
  });
  atEnd(() => worker.stop());
  worker.start();
  const value = async (name: string) => {
    const [sample] = (await metrics.getSingleMetric(name)?.get())?.values ?? [];
    return sample?.value;
  };
  return {
    ...{ state, lines, worker, wakeUp },
    /** Waits until the worker has worked on what the test changed. */
    async settled() {
      const from = state.rounds;
      await until(() => Promise.resolve(state.rounds >= from + 2), { timeoutMs, everyMs: 2 });
    },
    figures: async () => [
      await value('pis_audit_signing_broken'),
      await value('pis_audit_unsigned_seconds'),
    ],
  };
}

it('a log that differs from what was signed is logged once, and measured until a checkpoint holds again', async () => {
  const { state, lines, worker, settled, figures } = started();
  await settled();
  expect(await figures()).toEqual([0, 0]);
  state.error = new AuditBroken('The first 3 events are not those that were signed.', false);
  state.isBroken = true;
  await settled();
  state.nowMs += 90_000;
  expect(await figures()).toEqual([1, 90]);
  // Not compared again yet.
  state.hasUnsigned = true;
  state.error = null;
  await settled();
  expect(await figures()).toEqual([1, 90]);
  // As many events as were signed, and still not compared.
  state.hasUnsigned = false;
  await settled();
  expect(await figures()).toEqual([1, 0]);
  state.isBroken = false;
  await settled();
  expect(await figures()).toEqual([0, 0]);
  await worker.stop();
  expect(lines).toEqual([
    'error: the log differs from what was signed: nothing more is signed',
    'info: the log is the one that was signed: checkpoints are signed again',
  ]);
});

it('a log that is signed is read when a proof asks for a checkpoint, and often while events wait for one', async () => {
  const { state, worker, settled, wakeUp } = started(3_600_000);
  for (let rounds = 1; rounds <= 3; rounds += 1) {
    await until(() => state.rounds > 0, { timeoutMs });
    const another = started(1);
    await another.settled();
    await another.worker.stop();
    expect(state.rounds).toBe(rounds);
    state.hasUnsigned = rounds === 3;
    wakeUp.bell.ring();
    await until(() => state.rounds > rounds, { timeoutMs });
  }
  await settled();
  await worker.stop();
});

it('events that wait for a checkpoint are measured from the first one on', async () => {
  const { state, lines, worker, settled, figures } = started();
  state.hasUnsigned = true;
  await settled();
  state.nowMs += 30_000;
  state.error = new StoreUnavailable('away');
  await settled();
  state.nowMs += 30_000;
  expect(await figures()).toEqual([0, 60]);
  state.error = null;
  state.hasUnsigned = false;
  await settled();
  expect(await figures()).toEqual([0, 0]);
  await worker.stop();
  expect(new Set(lines)).toEqual(new Set(['warn: no checkpoint of the log could be signed yet']));
});
