/** `pis rails notifications`: reports of the bank that match no payment. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { railReferenceOf } from '@pis/bank-rails';
import { type CliDatabase, cliDatabase } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;

let cli: CliDatabase;
beforeAll(async () => {
  cli = await cliDatabase();
});
afterAll(() => cli?.end());

const json = (...args: string[]) =>
  pisJson<unknown>(['rails', 'notifications', ...args], cli.environment);
const plain = (...args: string[]) => pis(['rails', 'notifications', ...args], cli.environment);

/** Waits until `doing` has woken the executors, which may sleep for many seconds. */
async function waking<Answer>(doing: () => Promise<Answer>): Promise<Answer> {
  const client = await cli.pool.connect();
  try {
    const woken = Promise.withResolvers<string | undefined>();
    client.on('notification', ({ payload }) => woken.resolve(payload));
    await client.query('LISTEN pis_work');
    const answer = await doing();
    expect(await woken.promise).toBe('bankNotifications');
    return answer;
  } finally {
    client.release(true);
  }
}

/** A notification as rail-executor stores it after a failed try. */
async function keepUnmatched(sequence: string, reference: string, nextTry: string) {
  await cli.pool.query(
    `INSERT INTO rail_notifications (feed, sequence, reference, type, at, received_at, reason)
     VALUES ('bank', $1, $2, 'confirmed', now(), now(), 'the reason')`,
    [sequence, reference],
  );
  await cli.pool.query(
    `INSERT INTO rail_notified_references (feed, reference, since, tries, due_at)
     VALUES ('bank', $1, now() - interval '1 day', 7, $2)`,
    [reference, nextTry],
  );
}

const dueReferences = async () =>
  (
    await cli.pool.query<{ reference: string }>(
      'SELECT reference FROM rail_notified_references WHERE due_at <= now() ORDER BY due_at',
    )
  ).rows.map(({ reference }) => reference);

it('lists unmatched notifications, and retries one or all of them, recorded', async () => {
  expect(await json('list')).toEqual({ data: [] });
  const paymentId = randomUUID();
  const reference = railReferenceOf(paymentId);
  await keepUnmatched('1', reference, 'infinity');
  await keepUnmatched('2', 'none-of-ours', '2999-01-01');
  await cli.pool.query(
    `UPDATE rail_notifications SET detail = '{"returnReference":"T2"}' WHERE sequence = '2'`,
  );
  const id = expect.stringMatching(/^\d+$/) as unknown;
  const one = {
    id,
    returnReasonCode: null,
    returnReference: null,
    at: isoTime,
    receivedAt: isoTime,
    reason: 'the reason',
  };
  expect(await json('list')).toEqual({
    data: [
      {
        ...{ connection: 'bank', sequence: '1', reference, paymentId, type: 'confirmed', ...one },
        nextTryAt: null,
      },
      {
        ...{ connection: 'bank', sequence: '2', reference: 'none-of-ours', paymentId: null },
        ...{ type: 'confirmed', ...one, returnReference: 'T2' },
        nextTryAt: '2999-01-01T00:00:00.000Z',
      },
    ],
  });

  const who = ['--actor', 'ada', '--reason', 'the projection was behind'];
  expect(await waking(() => json('retry', '--reference', reference, ...who))).toEqual({
    requested: 1,
  });
  expect(await dueReferences()).toEqual([reference]);
  expect(await json('retry', '--all')).toEqual({ requested: 2 });
  expect([...(await dueReferences())].sort()).toEqual([reference, 'none-of-ours'].sort());

  const { rows } = await cli.pool.query<{ type: string; data: unknown }>(
    `SELECT type, data FROM events WHERE type LIKE 'OperatorAction%' ORDER BY position LIMIT 2`,
  );
  expect(rows).toMatchObject([
    { data: { action: 'rails notifications retry', subject: { reference }, actor: 'ada' } },
    { type: 'OperatorActionSucceeded', data: { outcome: { requested: 1 } } },
  ]);
});

it('refuses a retry without a target, with both kinds of target, and of an unknown one', async () => {
  expectRefusal(await plain('retry'), /either --reference or --all/);
  expectRefusal(await plain('retry', '--all', '--reference', 'x'), /either --reference or --all/);
  expectRefusal(await plain('retry', '--reference', 'unheard-of'), /no unmatched notification/);
});

it('takes a notification that staff has dealt with off the list, recorded with the reason', async () => {
  const paymentId = randomUUID();
  const reference = railReferenceOf(paymentId);
  await keepUnmatched('3', reference, 'infinity');
  await cli.pool.query(
    `INSERT INTO rail_notifications (feed, sequence, reference, type, at, received_at, reason)
     VALUES ('bank', '4', $1, 'returned', now(), now(), 'waits for 3')`,
    [reference],
  );
  const idOf = async (sequence: string) => {
    const { data } = (await json('list')) as { data: { id: string; sequence: string }[] };
    return data.find((one) => one.sequence === sequence)?.id ?? 'none';
  };
  const id = await idOf('3');
  const who = ['--actor', 'ada', '--reason', 'booked by hand'];
  expect(await waking(() => json('dismiss', '--id', id, ...who))).toEqual({
    ...{ connection: 'bank', sequence: '3', type: 'confirmed', paymentId },
  });
  expect(await idOf('3')).toBe('none');
  // What waited for it is tried at once.
  expect(await dueReferences()).toContain(reference);
  await json('dismiss', '--id', await idOf('4'), ...who);
  const { rows } = await cli.pool.query(
    'SELECT FROM rail_notified_references WHERE reference = $1',
    [reference],
  );
  expect(rows).toEqual([]);

  expectRefusal(
    await plain('dismiss', '--id', id, ...who),
    /no unmatched notification has this ID/,
  );
  expectRefusal(await plain('dismiss', '--id', 'x', ...who), /--id is not an ID of the list/);
  expectRefusal(await plain('dismiss', '--id', id), /required option '--reason/);
  const { rows: actions } = await cli.pool.query<{ data: unknown }>(
    "SELECT data FROM events WHERE type = 'OperatorActionStarted' AND data ->> 'action' = 'rails notifications dismiss' ORDER BY position LIMIT 1",
  );
  expect(actions).toMatchObject([
    { data: { subject: { id }, actor: 'ada', reason: 'booked by hand' } },
  ]);
});
