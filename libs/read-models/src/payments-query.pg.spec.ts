import type { PaymentFilter } from '@pis/contracts';
import { randomUUID } from 'node:crypto';
import type { PaymentDetails } from '@pis/domain';
import { originatorParty } from '@pis/domain/testing';
import { type EventStore, memoryEventStore, StoreUnavailable } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import pg from 'pg';
import type { ListCursor } from './list-page.js';
import { paymentsQuery, type PaymentsQuery } from './payments-query.js';
import { rebuildProjection } from './rebuild.js';
import { completePayment, queuePayment } from './testing.js';

const organizationId = randomUUID();
const [originatorA, originatorB, contactA, contactB, contactC] = [1, 2, 3, 4, 5].map(() =>
  randomUUID(),
);
const start = Date.parse('2026-11-21T09:00:00.000Z');
/** Three payments in each millisecond. */
const timeOf = (index: number) => new Date(start + Math.floor(index / 3)).toISOString();

let database: TestDatabase;
let store: EventStore;
let pool: pg.Pool;
let query: PaymentsQuery;

interface Expected {
  readonly details: Partial<PaymentDetails>;
  readonly paymentId: string;
  readonly createdAt: string;
  readonly status: string;
}
let payments: Expected[];

async function add(index: number): Promise<void> {
  const [originatorId, contactId] =
    index % 2 === 0
      ? [originatorA, index % 3 === 0 ? contactA : contactB]
      : [originatorB, contactC];
  const details: Partial<PaymentDetails> = {
    ...{ organizationId, originatorId, contactId },
    originator: { ...originatorParty, id: originatorId },
    direction: index % 5 === 0 ? 'INBOUND' : 'OUTBOUND',
    paymentRail: index % 5 === 0 ? 'ACH' : 'RTP',
    externalPaymentId: index % 4 === 0 ? `label-${index % 8}` : null,
    idempotencyKey: `key-${index}`,
  } as Partial<PaymentDetails>;
  const createdAt = timeOf(index);
  const payment = await queuePayment(store, createdAt, details);
  const completed = index % 4 === 1;
  if (completed) await completePayment(store, payment);
  const status = completed ? 'COMPLETED' : 'QUEUED';
  payments.push({ details, paymentId: payment.paymentId, createdAt, status });
}

/** The order that PostgreSQL must use: newest first, then by ID, descending. */
function newestFirst(expected: readonly Expected[]): readonly string[] {
  const key = ({ createdAt, paymentId }: Expected) => `${createdAt} ${paymentId}`;
  return [...expected].sort((a, b) => (key(a) < key(b) ? 1 : -1)).map(({ paymentId }) => paymentId);
}

async function allPages(
  filter: PaymentFilter,
  limit: number,
  betweenPages = async () => {},
): Promise<readonly string[]> {
  const ids: string[] = [];
  let after: ListCursor | null | undefined;
  while (after !== null) {
    const page = await query.list(organizationId, filter, { limit, after: after ?? undefined });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    ids.push(...page.items.map(({ paymentId }) => paymentId));
    after = page.next;
    await betweenPages();
  }
  return ids;
}

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  query = paymentsQuery(pool);
  store = memoryEventStore();
  payments = [];
  for (let index = 0; index < 60; index++) await add(index);
  await queuePayment(store, timeOf(30), { organizationId: randomUUID() });
  await rebuildProjection('payments', { store, pool });
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

describe('listing payments', () => {
  it("gives the organization's own, newest first, with a cursor until the last page", async () => {
    const page = await query.list(organizationId, {}, { limit: 60 });
    expect(page.items.map(({ paymentId }) => paymentId)).toEqual(newestFirst(payments));
    expect(page.next).toBeNull();
    expect((await query.list(organizationId, {}, { limit: 59 })).next).not.toBeNull();
    expect(await query.list(randomUUID(), {}, { limit: 60 })).toEqual({ items: [], next: null });
  });

  it.each([1, 2, 7, 20])(
    'pages of %i neither skip nor repeat payments with equal times',
    async (limit) => {
      expect(await allPages({}, limit)).toEqual(newestFirst(payments));
    },
  );

  const filters: readonly [string, PaymentFilter, (payment: Expected) => boolean][] = [
    ['status', { status: 'COMPLETED' }, ({ status }) => status === 'COMPLETED'],
    ['status of none', { status: 'RETURNED' }, () => false],
    ['originator', { originatorId: originatorA }, (p) => p.details.originatorId === originatorA],
    ['contact', { contactId: contactB }, (p) => p.details.contactId === contactB],
    ['direction', { direction: 'INBOUND' }, (p) => p.details.direction === 'INBOUND'],
    [
      'contact of another originator',
      { contactId: contactA, originatorId: originatorB },
      () => false,
    ],
    ['contact that has no payment', { contactId: randomUUID() }, () => false],
    ['rail', { paymentRail: 'RTP' }, (p) => p.details.paymentRail === 'RTP'],
    [
      'external id',
      { externalPaymentId: 'label-4' },
      (p) => p.details.externalPaymentId === 'label-4',
    ],
    ['text no payment can have', { externalPaymentId: '\0' }, () => false],
    ['from, inclusive', { createdFrom: timeOf(30) }, (p) => p.createdAt >= timeOf(30)],
    ['to, inclusive', { createdTo: timeOf(30) }, (p) => p.createdAt <= timeOf(30)],
    [
      'one millisecond',
      { createdFrom: timeOf(30), createdTo: timeOf(30) },
      (p) => p.createdAt === timeOf(30),
    ],
    [
      'all of them at once',
      {
        status: 'QUEUED',
        originatorId: originatorA,
        contactId: contactA,
        direction: 'INBOUND',
        paymentRail: 'ACH',
        createdFrom: timeOf(0),
        createdTo: timeOf(59),
      },
      (p) =>
        p.status === 'QUEUED' &&
        p.details.originatorId === originatorA &&
        p.details.contactId === contactA &&
        p.details.direction === 'INBOUND',
    ],
  ];
  it.each(filters)('filters by %s, on every page', async (_, filter, matches) => {
    const expected = newestFirst(payments.filter(matches));
    expect(await allPages(filter, 4)).toEqual(expected);
    expect(await allPages(filter, 100)).toEqual(expected);
  });

  it('combines any filters, also those that no payment matches', async () => {
    const single: readonly [PaymentFilter, (payment: Expected) => boolean][] = [
      [{ status: 'COMPLETED' }, ({ status }) => status === 'COMPLETED'],
      [{ originatorId: originatorA }, ({ details }) => details.originatorId === originatorA],
      [{ contactId: contactB }, ({ details }) => details.contactId === contactB],
      [{ direction: 'OUTBOUND' }, ({ details }) => details.direction === 'OUTBOUND'],
      [{ paymentRail: 'ACH' }, ({ details }) => details.paymentRail === 'ACH'],
      [{ externalPaymentId: 'label-4' }, (p) => p.details.externalPaymentId === 'label-4'],
      [{ createdFrom: timeOf(21) }, (p) => p.createdAt >= timeOf(21)],
      [{ createdTo: timeOf(41) }, (p) => p.createdAt <= timeOf(41)],
    ];
    for (let bits = 0; bits < 1 << single.length; bits += 1) {
      const chosen = single.filter((_, index) => bits & (1 << index));
      const filter: PaymentFilter = Object.assign({}, ...chosen.map(([part]) => part));
      const expected = payments.filter((payment) => chosen.every(([, fits]) => fits(payment)));
      expect([filter, await allPages(filter, 7)]).toEqual([filter, newestFirst(expected)]);
    }
  });

  it('continues from the cursor or from createdTo, whichever is earlier', async () => {
    const createdTo = timeOf(30);
    for (const at of [timeOf(9), timeOf(30), timeOf(51)]) {
      const after = { createdAt: at, id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
      const { items } = await query.list(organizationId, { createdTo }, { limit: 100, after });
      expect(items.map(({ paymentId }) => paymentId)).toEqual(
        newestFirst(payments.filter((p) => p.createdAt <= createdTo && p.createdAt <= at)),
      );
      const lowest = { createdAt: at, id: '00000000-0000-0000-0000-000000000000' };
      const rest = await query.list(organizationId, { createdTo }, { limit: 100, after: lowest });
      expect(rest.items.map(({ paymentId }) => paymentId)).toEqual(
        newestFirst(payments.filter((p) => p.createdAt <= createdTo && p.createdAt < at)),
      );
    }
  });

  it('shows each payment once on its pages while newer ones arrive', async () => {
    const before = newestFirst(payments);
    const seen = await allPages({}, 7, async () => {
      await add(payments.length + 100);
      await rebuildProjection('payments', { store, pool });
    });
    expect(seen).toEqual(before);
    expect((await allPages({}, 50)).length).toBe(payments.length);
  });

  it('throws StoreUnavailable when the database is unavailable', async () => {
    const url = new URL(database.url);
    url.port = '1';
    const away = new pg.Pool({ connectionString: url.href, connectionTimeoutMillis: 1_000 });
    await expect(paymentsQuery(away).list(organizationId, {}, { limit: 1 })).rejects.toBeInstanceOf(
      StoreUnavailable,
    );
    await away.end();
  });
});
