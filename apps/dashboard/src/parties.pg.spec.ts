/** Contacts and originators: searching, one party's page, and answers to notifications of change. */
import { randomUUID } from 'node:crypto';
import { correctionPlace } from '@pis/bank-rails';
import { ContactReports, setOrganizationBranding } from '@pis/commands';
import {
  contact as contacts,
  type ContactCommand,
  payment as payments,
  type PaymentCommand,
} from '@pis/domain';
import { repository } from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { pngOf, until } from '@pis/local-servers/testing';
import { projections } from '@pis/read-models';
import { KEYRING } from '@pis/service-kit';
import { type Board, type BoardReply, by, startBoard } from './testing/board.js';
import { USE_CASES, type UseCases } from './use-cases.js';

let board: Board;
beforeAll(async () => {
  board = await startBoard({ projections: Object.values(projections) });
});
afterAll(() => board?.close());

const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
};

async function tenant() {
  const organizationId = await board.newOrganization();
  const originatorId = await board.newOriginator(organizationId);
  const viewer = await board.signedIn(await board.newUser('viewer', organizationId));
  const operator = await board.signedIn(await board.newUser('operator', organizationId));
  return { organizationId, originatorId, viewer, operator };
}
type Tenant = Awaited<ReturnType<typeof tenant>>;

const get = (path: string, cookie: string) => board.call(path, { cookie });
const post = (path: string, cookie: string, body?: unknown) =>
  board.call(path, { method: 'POST', cookie, ...(body === undefined ? {} : { body }) });
const dataOf = <Data>({ body, text, status }: BoardReply): Data => {
  if (status !== 200) throw new Error(text);
  return body.data as Data;
};

async function newContact({ originatorId, operator }: Tenant, changes: object = {}) {
  const body = {
    ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
    ...{ email: `${randomUUID()}@example.com`, bankAccount },
    ...changes,
  };
  return dataOf<{ contactId: string }>(await post('/contacts', operator, body)).contactId;
}

describe('A search for contacts', () => {
  const idsOf = async (query: Record<string, string>, cookie: string) => {
    const reply = await get(`/contacts?${new URLSearchParams(query).toString()}`, cookie);
    return dataOf<{ contactId: string }[]>(reply).map(({ contactId }) => contactId);
  };

  it('finds names and e-mail addresses, whatever their case and accents', async () => {
    const mine = await tenant();
    const jose = await newContact(mine, {
      firstName: 'José',
      lastName: 'Núñez',
      email: 'jn@a.example',
    });
    const firm = await newContact(mine, {
      ...{ entityType: 'BUSINESS', companyName: 'Nunez & Daughters', firstName: null },
      ...{ lastName: null, email: 'office@firm.example' },
    });
    const search = (text: string) => idsOf({ search: text }, mine.viewer);
    expect(await search('nunez')).toEqual([firm, jose]);
    expect(await search('  NÚÑEZ  jose ')).toEqual([jose]);
    expect(await search('firm.example')).toEqual([firm]);
    expect(await search('%')).toEqual([]);
    expect(await search('')).toEqual([firm, jose]);
  });

  it('keeps to the organization, the originator and the pages that are asked for', async () => {
    const [mine, other] = [await tenant(), await tenant()];
    await newContact(other);
    const second = { ...mine, originatorId: await board.newOriginator(mine.organizationId) };
    const ofSecond = await newContact(second);
    const ofFirst = [];
    for (let count = 0; count < 5; count += 1) ofFirst.push(await newContact(mine));
    const { originatorId } = mine;
    expect(await idsOf({ search: 'ada', originatorId, limit: '100' }, mine.viewer)).toEqual(
      ofFirst.toReversed(),
    );
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = { search: 'ada', limit: '2', ...(cursor === '' ? {} : { cursor }) };
      const reply = await get(`/contacts?${new URLSearchParams(query).toString()}`, mine.viewer);
      seen.push(...dataOf<{ contactId: string }[]>(reply).map(({ contactId }) => contactId));
      cursor = reply.body.meta?.pagination?.nextCursor ?? null;
    }
    expect(seen).toEqual([...ofFirst.toReversed(), ofSecond]);
  });

  it('reads on where it stopped when most contacts do not match', async () => {
    const mine = await tenant();
    const rare = await newContact(mine, { firstName: 'Zebedee' });
    expect(await idsOf({ search: 'zebedee' }, mine.viewer)).toEqual([rare]);
    // More rows than one request reads, all of them newer.
    await board.pool.query(
      `INSERT INTO contacts (contact_id, organization_id, originator_id, created_at, revision, item)
       SELECT gen_random_uuid(), organization_id, originator_id, created_at + n * interval '1 ms', 0,
              '{"firstName":"Ada","email":"a@b.example"}'
         FROM contacts, generate_series(1, 10500) n WHERE contact_id = $1`,
      [rare],
    );
    const first = await get('/contacts?search=zebedee', mine.viewer);
    expect(first.body).toMatchObject({ data: [], meta: { pagination: {} } });
    const cursor = first.body.meta?.pagination?.nextCursor ?? '';
    expect(await idsOf({ search: 'zebedee', cursor }, mine.viewer)).toEqual([rare]);
  });

  it('does not find who was erased', async () => {
    const mine = await tenant();
    const erased = await newContact(mine, { lastName: 'Forgotten' });
    expect(await idsOf({ search: 'forgotten' }, mine.viewer)).toEqual([erased]);
    await erase(mine.organizationId, erased);
    expect(await idsOf({ search: 'forgotten' }, mine.viewer)).toEqual([]);
    expect(await idsOf({ search: '' }, mine.viewer)).toEqual([]);
    expect((await get(`/contacts/${erased}`, mine.viewer)).status).toBe(404);
  });
});

async function erase(organizationId: string, contactId: string): Promise<void> {
  const repo = repository(board.store, contacts);
  const at = new Date().toISOString();
  const requestId = randomUUID();
  const request = { reason: 'asked', by: 'test', overridesRetention: false, requestId };
  const steps: readonly ContactCommand[] = [
    { type: 'RequestErasure', at, data: request },
    { type: 'ConfirmErasure', at, data: { requestId } },
    { type: 'CompleteErasure', at, data: {} },
  ];
  for (const step of steps) {
    const taken = await repo.execute(contactId, step, by);
    if ('refused' in taken) throw new Error(taken.refused);
    const { ownWrites } = board.app.get<UseCases>(USE_CASES);
    ownWrites.note('directory', organizationId, taken.position);
  }
}

interface ContactPage {
  readonly contact: { readonly bankAccount: object | null };
  readonly isActive: boolean;
  readonly correction: object | null;
}

describe('The page of a contact', () => {
  it('shows its fields and that its account is active', async () => {
    const mine = await tenant();
    const contactId = await newContact(mine);
    expect(dataOf(await get(`/contacts/${contactId}`, mine.viewer))).toMatchObject({
      contact: {
        ...{ contactId, originatorId: mine.originatorId, firstName: 'Ada' },
        bankAccount: { achAccountNumber: '********6789', bankName: 'JPMorgan Chase Bank' },
      },
      ...{ isActive: true, lastReturn: null, correction: null },
    });
    const without = await newContact(mine, { bankAccount: null });
    expect(dataOf(await get(`/contacts/${without}`, mine.viewer))).toMatchObject({
      isActive: false,
    });
  });

  it('and that of an originator belong to their organization', async () => {
    const [mine, other] = [await tenant(), await tenant()];
    const contactId = await newContact(mine);
    const { originatorId } = mine;
    const path = `/originators/${originatorId}`;
    expect(dataOf(await get(path, mine.viewer))).toMatchObject({
      ...{ originatorId, companyName: 'Board Trading LLC' },
      bankAccount: { achAccountNumber: '********3000' },
    });
    const answer = { paymentId: randomUUID(), changeCode: 'C01' };
    for (const reply of [
      await get(path, other.operator),
      await get(`/originators/${contactId}`, mine.viewer),
      await get(`/contacts/${contactId}`, other.operator),
      await get(`/contacts/${originatorId}`, mine.viewer),
      await post(`/contacts/${contactId}/correction/apply`, other.operator, answer),
      await post(`/contacts/${contactId}/correction/dismiss`, other.operator, answer),
    ])
      expect(reply.status).toBe(404);
  });
});

describe('A notification of change', () => {
  /** A contact whose bank has corrected its account. */
  async function corrected(data: object, changeCode = 'C01') {
    const mine = await tenant();
    const contactId = await newContact(mine);
    const paymentId = await submittedPayment(mine, contactId);
    await report(contactId, paymentId, changeCode, data);
    const page = async () => dataOf<ContactPage>(await get(`/contacts/${contactId}`, mine.viewer));
    const answer = (way: 'apply' | 'dismiss', cookie: string, body = { paymentId, changeCode }) =>
      post(`/contacts/${contactId}/correction/${way}`, cookie, body);
    return { ...mine, contactId, paymentId, page, answer };
  }

  it('is shown with masked numbers, and can be applied by operators', async () => {
    const one = await corrected({ achAccountNumber: '555000444' });
    expect(await one.page()).toMatchObject({
      isActive: false,
      correction: {
        ...{ paymentId: one.paymentId, changeCode: 'C01', meaning: 'Incorrect account number' },
        ...{ isDismissed: false, isApplicable: true },
        corrected: { achAccountNumber: '*****0444' },
      },
    });
    expect((await one.answer('apply', one.viewer)).status).toBe(403);
    const applied = await one.answer('apply', one.operator);
    expect(dataOf(applied)).toMatchObject({ bankAccount: { achAccountNumber: '*****0444' } });
    expect(applied.text).not.toContain('555000444');
    expect(await one.page()).toMatchObject({ isActive: true, correction: null });
    expect((await one.answer('apply', one.operator)).status).toBe(409);
  });

  it('can be dismissed, and stays dismissed when the bank repeats it', async () => {
    const one = await corrected({ name: 'ADA KING' }, 'C04');
    expect(await one.page()).toMatchObject({
      isActive: false,
      correction: { corrected: { name: 'ADA KING' }, isApplicable: false },
    });
    expect((await one.answer('apply', one.operator)).status).toBe(409);
    expect((await one.answer('dismiss', one.viewer)).status).toBe(403);
    const other = { paymentId: one.paymentId, changeCode: 'C01' };
    expect((await one.answer('dismiss', one.operator, other)).status).toBe(409);
    dataOf(await one.answer('dismiss', one.operator));
    dataOf(await one.answer('dismiss', one.operator));
    expect(await one.page()).toMatchObject({ isActive: true, correction: { isDismissed: true } });
  });

  it('that names no valid account must be answered by entering one', async () => {
    const one = await corrected({ achRoutingNumber: '123456789' }, 'C02');
    const refused = await one.answer('apply', one.operator);
    expect(refused.status).toBe(409);
    expect(refused.text).not.toContain('123456789');
    const entered = { ...bankAccount, achAccountNumber: '000987654321' };
    const changed = await board.call(`/contacts/${one.contactId}`, {
      ...{ method: 'PATCH', cookie: one.operator, body: { bankAccount: entered } },
    });
    expect(changed.status).toBe(200);
    expect(await one.page()).toMatchObject({ isActive: true, correction: null });
  });
});

/** OUTBOUND, to the contact, on its way at the bank `first`. */
async function submittedPayment(
  { originatorId, operator }: Tenant,
  contactId: string,
): Promise<string> {
  const created = await post('/payments', operator, {
    ...{ originatorId, direction: 'OUTBOUND', recipient: { contactId }, paymentAmount: 1_000 },
    idempotencyKey: randomUUID(),
  });
  const { paymentId } = dataOf<{ paymentId: string }>(created);
  const claim = { railReference: `ref-${paymentId}`, connection: 'first' };
  const command: PaymentCommand = {
    ...{ type: 'ProcessPayment', at: new Date().toISOString(), data: claim },
  };
  const claimed = await repository(board.store, payments).execute(paymentId, command, by);
  if ('refused' in claimed) throw new Error(claimed.refused);
  return paymentId;
}

/** What the executor does with a notification of the bank. */
async function report(contactId: string, paymentId: string, changeCode: string, data: object) {
  const keyring = board.app.get<Keyring>(KEYRING);
  const place = correctionPlace('first', `ref-${paymentId}`);
  const corrected = await keyring.seal(ownerOf.contact(contactId), JSON.stringify(data), place);
  const { state } = await repository(board.store, payments).load(paymentId);
  if (state === null) throw new Error('no payment');
  const reports = new ContactReports(board.store, keyring, 'system:test');
  await reports.noteCorrection(state, { changeCode, corrected });
}

it("the logo is that of the user's organization", async () => {
  const [mine, other] = [await tenant(), await tenant()];
  const { store, pool } = board;
  const png = pngOf();
  const change = { organizationId: mine.organizationId, name: 'Branded', logo: png };
  expect(await setOrganizationBranding({ store, by }, change)).toMatchObject({ name: 'Branded' });
  const projected = async () => {
    const { rows } = await pool.query('SELECT 1 FROM organizations WHERE logo IS NOT NULL');
    return rows.length > 0;
  };
  await until(projected, { timeoutMs: 30_000 });
  expect(dataOf(await get('/organization/logo', mine.viewer))).toBe(
    `data:image/png;base64,${png.toString('base64')}`,
  );
  expect(dataOf(await get('/organization/logo', other.viewer))).toBeNull();
  expect(dataOf(await get('/me', mine.viewer))).toMatchObject({ organizationName: 'Branded' });
});
