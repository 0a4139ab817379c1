/** What differs for a collection: how it begins, whose keys and names it has, and who judges it. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TransferStream } from '@pis/commands';
import { type ErasureCommand, originator, settlementPartyId } from '@pis/domain';
import { later, originatorExample } from '@pis/domain/testing';
import { repository, systemContext } from '@pis/event-store';
import { Banks } from './banks.js';
import { DailyTotals } from './review/daily-totals.js';
import { NameList, namesIn } from './review/name-list.js';
import { Review } from './review/review.js';
import { reviewRulesSchema, type ReviewRulesInput } from './review/review-rules.js';
import { StaffDigests, type Digest } from './staff/staff-digests.js';
import { StaffNotices } from './staff/staff-notices.js';
import { openFormats } from './testing/formats.js';
import { openWorld, settle, type World } from './testing/world.js';

const placeOfTransfers = fileURLToPath(
  new URL(
    '../../../libs/read-models/prisma/migrations/20261216000000_log_place_of_transfers/migration.sql',
    import.meta.url,
  ),
);
const completed = ['Queued', 'Processing', 'Completed'];

let world: World;
beforeEach(async () => {
  world = await openWorld({ owner: 'collection' });
});
afterEach(() => world.close());

it('a new collection is executed once, by whichever of several executors follows the log', async () => {
  const collections = await Promise.all(
    ['4321', '0101', '0402', '4321', '0101', '0402'].map((ending) => world.queue(ending)),
  );
  const executors = [world.executor(), world.executor(), world.executor()];
  await Promise.all(
    executors.map(async (executor) => {
      await world.followLog();
      await executor.sweepRound();
    }),
  );
  await Promise.all(executors.map(settle));
  await settle(world.executor());
  const ends = [completed, [...completed, 'Returned']];
  const late = ['Queued', 'Processing', 'FailedInFlight', 'Completed'];
  for (const [index, { paymentId }] of collections.entries()) {
    expect(await world.history(paymentId)).toEqual([...ends, late][index % 3]);
    expect(await world.transfers(paymentId)).toHaveLength(1);
  }
  expect(await world.executions()).toBe(collections.length);
  expect(await world.count('rail_notifications')).toBe(0);
});

it('a new collection is executed although an executor without collections has read past it', async () => {
  const { paymentId } = await world.queue('4321');
  const [queued] = await world.store.readStream(world.streamIdOf(paymentId));
  // As the release before does it.
  await world.pool.query(
    `INSERT INTO rail_log_place (reader, position, event_id, stream_id, revision, updated_at)
     VALUES ('open-payments', $1, $2, $3, 0, now())`,
    [queued?.position, queued?.id, queued?.streamId],
  );
  await world.followLog();
  await world.executor().sweepRound();
  expect(await world.history(paymentId)).toEqual(completed);
});

it('collections are looked for from where executors without them were, once the schema is of this release', async () => {
  await world.queue('4321');
  await world.followLog();
  await world.pool.query(`UPDATE rail_log_place SET reader = 'open-payments'`);
  await world.pool.query(readFileSync(placeOfTransfers, 'utf8'));
  const columns = 'position, event_id, stream_id, revision';
  const { rows } = await world.pool.query(
    `SELECT reader FROM rail_log_place WHERE (${columns}) = (
       SELECT ${columns} FROM rail_log_place WHERE reader = 'open-payments') ORDER BY reader`,
  );
  expect(rows).toEqual([{ reader: 'open-payments' }, { reader: 'open-transfers' }]);
});

it('a collection over ACH files debits the originator, and its return has its code', async () => {
  const formats = await openFormats(world);
  const { banks } = formats;
  try {
    const { paymentId } = await world.queue('0101');
    await world.followLog({ banks: new Banks(banks) });
    const executor = world.executor({ banks });
    await executor.sweepRound();
    const { rows } = await world.pool.query(
      'SELECT direction, amount_minor::int, originator_id, contact_id, organization_id FROM ach_entries',
    );
    const { contact } = await world.payment(paymentId);
    expect(rows).toEqual([
      {
        ...{ direction: 'INBOUND', amount_minor: 12_345, contact_id: contact?.id },
        // In the name of the operator, in no batch of the client's.
        ...{ originator_id: settlementPartyId, organization_id: settlementPartyId },
      },
    ]);
    await formats.exchangeFiles();
    await executor.feedRound();
    expect(await world.history(paymentId)).toEqual([...completed, 'Returned']);
    expect(await world.payment(paymentId)).toMatchObject({ returnReasonCode: 'R01' });
    expect(await formats.executions()).toBe(1);
  } finally {
    await formats.close();
  }
});

it('a collection that presents a returned one again is such an entry for ACH', async () => {
  await world.close();
  world = await openWorld({ owner: 'collection', reinitiates: randomUUID() });
  const formats = await openFormats(world);
  try {
    await world.queue('4321');
    await world.followLog({ banks: new Banks(formats.banks) });
    await world.executor({ banks: formats.banks }).sweepRound();
    const { rows } = await world.pool.query('SELECT is_reinitiation FROM ach_entries');
    expect(rows).toEqual([{ is_reinitiation: true }]);
  } finally {
    await formats.close();
  }
});

it('a collection of an originator that is being erased is held, and fails unsent once it is erased', async () => {
  const { paymentId } = await world.queue('4321');
  const originatorId = (await world.payment(paymentId)).contact?.id ?? '';
  const by = systemContext('test');
  const originators = repository(world.store, originator);
  const data = originatorExample({ originatorId, entityType: 'INDIVIDUAL' });
  await originators.create(originatorId, { type: 'CreateOriginator', at: later, data }, by);
  const take = async (command: ErasureCommand, phase: string) => {
    await originators.execute(originatorId, command, by);
    await world.pool.query(
      `INSERT INTO party_erasures (party_id, kind, phase, since, position)
       VALUES ($1, 'originator', $2, now(), '1')
       ON CONFLICT (party_id) DO UPDATE SET phase = excluded.phase`,
      [originatorId, phase],
    );
  };
  const requestId = 'request-1';
  const request = { reason: 'asked', by: 'user:cli:ada', overridesRetention: false, requestId };
  await take({ type: 'RequestErasure', at: later, data: request }, 'requested');
  const executor = world.executor();
  await world.followLog();
  await executor.sweepRound();
  expect(await world.history(paymentId)).toEqual(['Queued']);
  expect(await world.pending(paymentId)).toMatchObject({ stage: 'queued' });
  await take({ type: 'ConfirmErasure', at: later, data: { requestId } }, 'confirmed');
  await world.timePasses(paymentId);
  await executor.sweepRound();
  expect(await world.history(paymentId)).toEqual(['Queued', 'Failed']);
  expect(await world.payment(paymentId)).toMatchObject({
    failureCode: 'INVALID_ORIGINATOR_DATA',
    failureMessage: 'originator: its personal data was erased',
  });
  expect(await world.executions()).toBe(0);
});

describe('the review of a collection', () => {
  type When = NonNullable<ReviewRulesInput['rules']>[number]['when'];
  async function historyUnder(when: When): Promise<readonly string[]> {
    const rules = reviewRulesSchema.parse({
      lists: { listed: { file: 'unused' } },
      rules: [{ name: 'the-rule', when, then: 'block' }],
    });
    const lists = new Map([['listed', new NameList(namesIn('7;ACME CORP'))]]);
    const review = new Review({ rules, lists, totals: new DailyTotals(world.pool) });
    const { paymentId } = await world.queue('4321');
    await world.followLog();
    await world.executor({ review }).sweepRound();
    return world.history(paymentId);
  }

  it.each<When>([
    { amountAbove: 1 },
    { direction: 'INBOUND' },
    { contactAccountEndsWith: '4321' },
    { originatorDailyCountAbove: 0 },
    { contactDailyTotalAbove: 0 },
  ])('ignores the rule %j for payments of clients', async (when) => {
    expect(await historyUnder(when)).toEqual(completed);
    expect(await world.count('rail_review_totals')).toBe(0);
  });

  it.each(['originator', 'contact', 'either'] as const)(
    'blocks it when the debited originator is on a list for %s',
    async (party) => {
      expect(await historyUnder({ nameOn: { list: 'listed', party } })).toEqual([
        'Queued',
        'Blocked',
      ]);
    },
  );
});

it('staff are told of a collection in doubt, by that name', async () => {
  const digests: Digest[] = [];
  const channel = {
    name: 'test',
    send: (digest: Digest) => {
      digests.push(digest);
      return Promise.resolve([]);
    },
  };
  const notices = new StaffNotices(world.pool, [channel.name]);
  const payments = new TransferStream(world.store, 'system:test');
  const { logger } = world;
  const staff = new StaffDigests({ notices, channels: [channel], payments, logger, pauseMs: 0 });
  const { paymentId } = await world.queue('0401');
  await world.followLog();
  const executor = world.executor();
  await executor.sweepRound();
  await world.timePasses(paymentId);
  await executor.deadlineRound();
  await world.followLog({ notices });
  await staff.round();
  expect(digests).toMatchObject([
    {
      subject: '1 collection in doubt',
      text: expect.stringContaining(`collection ${paymentId}: 123.45 USD, INBOUND, ACH`) as string,
      payments: [{ paymentId, transfer: 'collection', kind: 'in_flight' }],
    },
  ]);
});
