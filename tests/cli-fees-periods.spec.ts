/** `pis fees periods` and `pis fees unrecorded`, as staff run them. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { feePeriod, settlementPartyId } from '@pis/domain';
import { postgresEventStore, repository, systemContext } from '@pis/event-store';
import { type CliDatabase, cliDatabase } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(180_000);

interface Periods {
  readonly data: readonly { readonly feePeriodId: string }[];
  readonly nextOffset: number | null;
}

const [acme, other] = [randomUUID(), randomUUID()];
let cli: CliDatabase;
beforeAll(async () => {
  cli = await cliDatabase();
});
afterAll(() => cli?.end());

async function addPeriod(organizationId: string, month: number, status: string): Promise<string> {
  const feePeriodId = randomUUID();
  await cli.pool.query(
    `INSERT INTO fee_periods (fee_period_id, organization_id, originator_id, year, month,
        discount_fee_minor, flat_fee_minor, return_fee_minor, status, closed_at, debited_twice_at,
        revision)
      VALUES ($1, $2, $1, 2026, $3, 300, 50, 12, $4, now(),
        CASE WHEN $4 = 'COLLECTED' THEN now() END, 0)`,
    [feePeriodId, organizationId, month, status],
  );
  return feePeriodId;
}

it('lists the periods of a status, the newest month first, in pages', async () => {
  const older = await addPeriod(acme, 8, 'GIVEN_UP');
  const newer = await addPeriod(other, 9, 'GIVEN_UP');
  const twice = await addPeriod(acme, 9, 'COLLECTED');
  const list = async (...more: string[]) =>
    pisJson<Periods>(['fees', 'periods', ...more], cli.environment);
  const idsOf = ({ data }: Periods) => data.map(({ feePeriodId }) => feePeriodId);
  const givenUp = await list('--status', 'given_up');
  expect(idsOf(givenUp)).toEqual([newer, older]);
  expect(givenUp.nextOffset).toBeNull();
  expect(givenUp.data[1]).toMatchObject({
    ...{ organizationId: acme, year: 2026, month: 8, total: 362, status: 'GIVEN_UP' },
  });
  const first = await list('--status', 'given_up', '--limit', '1');
  expect([idsOf(first), first.nextOffset]).toEqual([[newer], 1]);
  const rest = await list('--status', 'given_up', '--limit', '1', '--offset', '1');
  expect([idsOf(rest), rest.nextOffset]).toEqual([[older], null]);
  expect(idsOf(await list('--status', 'given_up', '--organization', acme))).toEqual([older]);
  expect(idsOf(await list('--debited-twice'))).toEqual([twice]);
  const text = await pis(
    ['fees', 'periods', '--status', 'given_up', '--limit', '1'],
    cli.environment,
  );
  expect(text.stdout).toContain(`feePeriodId: ${newer}\n`);
  expect(text.stderr).toBe('pis: there are more periods: go on with --offset 1\n');
  expectRefusal(await pis(['fees', 'periods', '--status', 'lost'], cli.environment), /given_up/);
});

it('retries a period that was sent before the log was restored only with --not-debited', async () => {
  const store = postgresEventStore({ pool: cli.pool });
  const streams = repository(store, feePeriod);
  const feePeriodId = randomUUID();
  const collectionId = randomUUID();
  const at = '2026-11-02T12:00:00.000Z';
  const data = {
    ...{ feePeriodId, organizationId: acme, originatorId: randomUUID(), year: 2026, month: 10 },
    ...{ timeZone: 'America/New_York', to: '2026-11-01T04:00:00.000Z', upTo: '0042', after: null },
    ...{ discountFeeMinor: 300, flatFeeMinor: 50, returnFeeMinor: 12 },
    ...{ paymentsCompleted: 2, paymentsReturned: 1 },
  };
  const failed = { collectionId, status: 'BLOCKED', isUnsent: true, isSentBefore: true } as const;
  for (const command of [
    { type: 'CloseFeePeriod', at, data },
    { type: 'StartFeeCollection', at, data: { collectionId } },
    { type: 'RecordFeesFailed', at, data: failed },
  ] as const)
    await streams.execute(feePeriodId, command, systemContext('test'));
  await store.close();
  const retry = ['fees', 'retry', '--period', feePeriodId, '--reason', 'the bank has not got it'];
  expectRefusal(await pis(retry, cli.environment), /--not-debited/);
  const period = await pisJson([...retry, '--not-debited'], cli.environment);
  expect(period).toMatchObject({ feePeriodId, status: 'DUE', total: 362 });
  const { rows } = await cli.pool.query(
    `SELECT data->'subject' AS subject FROM events WHERE type LIKE 'OperatorAction%'
      AND data->'subject'->>'feePeriodId' = $1 ORDER BY position DESC LIMIT 1`,
    [feePeriodId],
  );
  expect(rows).toEqual([{ subject: { feePeriodId, isNotDebited: true } }]);
});

it('lists collections that the log lacks', async () => {
  const collectionId = randomUUID();
  await cli.pool.query(
    `INSERT INTO ach_entries (reference, bank, status, payment_id, organization_id, originator_id,
        contact_id, direction, amount_minor, submitted_at)
      VALUES ($1::text, 'first', 'filed', $1::uuid, $2, $2, $3, 'INBOUND', 362, '2026-11-05T12:00:00Z')`,
    [collectionId, settlementPartyId, acme],
  );
  expect(await pisJson(['fees', 'unrecorded'], cli.environment)).toMatchObject({
    data: [{ originatorId: acme, collectionId, status: 'filed', amount: 362, period: null }],
  });
});
