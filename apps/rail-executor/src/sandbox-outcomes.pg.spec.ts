import { until } from '@pis/local-servers/testing';
import type { PaymentEvent } from '@pis/domain';
import { openWorld, type World } from './testing/world.js';
import type { RailExecutor } from './rail-executor.js';

const timeoutMs = 20_000;

type Name = PaymentEvent['type'] extends `Payment${infer Rest}` ? Rest : never;

/** Rules sandbox-1 to sandbox-15. */
const outcomes: readonly [string, Name[], Record<string, unknown>][] = [
  ['4321', ['Queued', 'Processing', 'Completed'], { status: 'COMPLETED' }],
  ['0101', ['Queued', 'Processing', 'Completed', 'Returned'], { returnReasonCode: 'R01' }],
  ['0102', ['Queued', 'Processing', 'Completed', 'Returned'], { returnReasonCode: 'R02' }],
  ['0107', ['Queued', 'Processing', 'Completed', 'Returned'], { returnReasonCode: 'R07' }],
  ['0199', ['Queued', 'Processing', 'Completed', 'Returned'], { returnReasonCode: null }],
  ['9029', ['Queued', 'Processing', 'Completed', 'Returned'], { returnReasonCode: 'R29' }],
  ['9085', ['Queued', 'Processing', 'Completed', 'Returned'], { returnReasonCode: 'R85' }],
  ['0201', ['Queued', 'Failed'], { failureCode: 'INVALID_CONTACT_DATA' }],
  ['0202', ['Queued', 'Failed'], { failureCode: 'INVALID_ORIGINATOR_DATA' }],
  ['0203', ['Queued', 'Failed'], { failureCode: 'INTERNAL_ERROR' }],
  ['0204', ['Queued', 'Processing', 'Failed'], { failureCode: 'INTERNAL_ERROR' }],
  ['0301', ['Queued', 'Blocked'], { status: 'BLOCKED', failureCode: null }],
  [
    '0401',
    ['Queued', 'Processing', 'FailedInFlight'],
    { failureCode: null, failureReason: expect.any(String) },
  ],
  [
    '0402',
    ['Queued', 'Processing', 'FailedInFlight', 'Completed'],
    { status: 'COMPLETED', failedAt: null, failureReason: null },
  ],
  ['0501', ['Queued'], { status: 'QUEUED' }],
  ['0502', ['Queued', 'Processing'], { status: 'PROCESSING' }],
];

/** Its row in rail_pending, if any. */
const waiting: Readonly<Record<string, string>> = {
  '0401': 'in_flight',
  '0501': 'queued',
  '0502': 'submitted',
};

describe.each([
  ['answers at once', { delayMs: 0, confirmationTimeoutMs: 80 }],
  // More time than it needs on a busy machine. The test ends it.
  ['takes its time at each step', { delayMs: 40, confirmationTimeoutMs: 3_600_000 }],
])('with a bank that %s', (_what, options) => {
  let world: World;
  let executor: RailExecutor;
  beforeAll(async () => {
    world = await openWorld(options);
    executor = world.executor();
    executor.start();
  });
  afterAll(async () => {
    await executor.stop();
    await world.close();
  });

  /** Seen by an executor whose clock is an hour ahead, with a database whose clock is ahead too. */
  async function endTimeToConfirm(paymentId: string): Promise<void> {
    await world.timePasses(paymentId);
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
    await world.executor({ config }).deadlineRound();
  }

  it.each(outcomes)('an account ending in %s leads to %j', async (ending, expected, fields) => {
    const message = await world.queue(ending);
    await executor.handle(message.value, message.delivery);
    const comesTo = (events: number) =>
      until(async () => (await world.history(message.paymentId)).length >= events, { timeoutMs });
    const overdueAt = expected.indexOf('FailedInFlight');
    await comesTo(overdueAt < 0 ? expected.length : overdueAt);
    // The only thing left is an occasional inquiry to the bank: the status stays.
    await until(
      async () => {
        const stage = (await world.pending(message.paymentId))?.stage;
        if (overdueAt >= 0 && stage === 'submitted') await endTimeToConfirm(message.paymentId);
        return stage === waiting[ending];
      },
      { timeoutMs },
    );
    await comesTo(expected.length);
    if (waiting[ending] === 'queued') await world.timePasses(message.paymentId);
    await executor.sweepRound();
    expect(await world.history(message.paymentId)).toEqual(expected);
    expect(await world.payment(message.paymentId)).toMatchObject(fields);
    await until(async () => (await world.count('rail_notifications')) === 0, { timeoutMs });
    const transfers = await world.transfers(message.paymentId);
    expect(transfers).toHaveLength(expected.includes('Processing') ? 1 : 0);
    if (expected.includes('FailedInFlight'))
      await until(async () => (await world.transfers(message.paymentId))[0]?.inquired === true, {
        timeoutMs,
      });
  });

  it.each(['0201', '0202'])('a rejection names the field (%s)', async (ending) => {
    const message = await world.queue(ending, 'INBOUND');
    await executor.handle(message.value, message.delivery);
    const failed = await until(
      async () => {
        const payment = await world.payment(message.paymentId);
        return payment.status === 'FAILED' && payment;
      },
      { timeoutMs },
    );
    expect(failed.failureMessage).toContain('bankAccount.achAccountNumber');
    expect(failed.failureReason).toBe(failed.failureMessage);
  });
});
