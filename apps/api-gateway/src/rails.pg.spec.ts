/** POST /v1/rails/evaluate, and the rails of payments that are created. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setOrganizationRails, unrefused } from '@pis/commands';
import { payment as payments } from '@pis/domain';
import { repository } from '@pis/event-store';
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import { bankAccount, by, type Gateway, startGateway } from './testing/gateway.js';
import { codeOf, createPayer, idOf, type Payer } from './testing/payments.js';

const scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-rails-'));
let database: TestDatabase;
let gateway: Gateway;
let payer: Payer;
beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGateway({ databaseUrl: database.url });
  payer = await createPayer(gateway);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
  rmSync(scratch, { recursive: true, force: true });
});

const at = (achRoutingNumber: string, changes: object = {}) =>
  createPayer(gateway, { bankAccount: { ...bankAccount, achRoutingNumber, ...changes } });

interface Evaluated {
  readonly paymentRail: string | null;
  readonly achService: string | null;
  readonly expectedSettlementAt: string | null;
  readonly rejectedRails: readonly {
    paymentRail: string;
    achService: string | null;
    code: string;
    reason: string;
  }[];
}

const evaluate = (one: Payer, changes: object = {}, key?: string) =>
  gateway.call('/v1/rails/evaluate', {
    tenant: one.tenant,
    method: 'POST',
    body: one.body(changes),
    ...(key === undefined ? {} : { key }),
  });
async function evaluated(one: Payer, changes: object = {}): Promise<Evaluated> {
  const { status, body } = await evaluate(one, changes);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body?.data as Evaluated;
}
async function created(one: Payer, changes: object = {}) {
  const paymentId = idOf(await one.pay({ body: one.body(changes) }));
  const { state } = await repository(gateway.store, payments).load(paymentId);
  if (state === null) throw new Error('no payment');
  return state;
}

describe('evaluating rails', () => {
  it('answers the rail that a payment then takes, and why no other', async () => {
    const evaluation = await evaluated(payer);
    expect(evaluation).toMatchObject({ paymentRail: 'RTP', achService: null });
    expect(evaluation.rejectedRails).toHaveLength(5);
    expect(evaluation.rejectedRails).toContainEqual({
      paymentRail: 'SWIFT',
      achService: null,
      code: 'account_in_us',
      reason: 'SWIFT is only for accounts with a SWIFT code of another country than the US.',
    });
    const { paymentRail, railDecision } = await created(payer);
    expect(paymentRail).toBe('RTP');
    expect(railDecision).toMatchObject({ isPossible: true, achService: null });
    const codes = evaluation.rejectedRails.map(({ reason: _, ...rejected }) => rejected);
    expect(railDecision?.rejected).toEqual(codes);
  });

  it('creates nothing', async () => {
    const before = await gateway.store.lastPosition();
    await evaluated(payer);
    expect(await gateway.store.lastPosition()).toBe(before);
  });

  it('is open to keys that read, and to no other', async () => {
    const { full_access, read_only, webhook_admin } = payer.tenant.keys;
    expect((await evaluate(payer, {}, full_access)).status).toBe(200);
    expect((await evaluate(payer, {}, read_only)).status).toBe(200);
    expect(codeOf(await evaluate(payer, {}, webhook_admin))).toBe('403 FORBIDDEN');
  });

  it('refuses what the creation of the payment would refuse', async () => {
    expect(codeOf(await evaluate(payer, { paymentAmount: 0 }))).toBe('400 VALIDATION_ERROR');
    const nobody = '00000000-0000-4000-8000-000000000000';
    expect(codeOf(await evaluate(payer, { contactId: nobody }))).toBe('404 NOT_FOUND');
    const stranger = await createPayer(gateway);
    expect(codeOf(await evaluate({ ...payer, tenant: stranger.tenant }))).toBe('404 NOT_FOUND');
    const without = await createPayer(gateway, { bankAccount: null });
    expect((await evaluate(without)).body?.error?.details).toMatchObject([
      { field: 'contactId', issue: 'validation_contact_bank_account_required' },
    ]);
  });

  it('says null when no rail can take the payment', async () => {
    const abroad = await at('021000021', { swiftCode: 'DEUTDEFF' });
    const evaluation = await evaluated(abroad);
    expect(evaluation).toMatchObject({ paymentRail: null, expectedSettlementAt: null });
    expect(
      evaluation.rejectedRails.map(({ paymentRail, code }) => [paymentRail, code]),
    ).toContainEqual(['SWIFT', 'address_required']);
  });

  it('says null for the debit of an account abroad, and so is the payment', async () => {
    const abroad = await at('021000021', { swiftCode: 'DEUTDEFF' });
    const evaluation = await evaluated(abroad, { direction: 'INBOUND' });
    expect(evaluation.paymentRail).toBeNull();
    expect(
      evaluation.rejectedRails.map(({ paymentRail, achService, code }) => [
        achService ?? paymentRail,
        code,
      ]),
    ).toContainEqual(['standard', 'account_outside_us']);
    expect(await created(abroad, { direction: 'INBOUND' })).toMatchObject({
      ...{ status: 'QUEUED', paymentRail: 'ACH' },
      railDecision: { isPossible: false, expectedSettlementAt: null },
    });
  });

  it('shows no account number, and records none', async () => {
    const { paymentRail: _, ...shown } = await evaluated(payer);
    const { railDecision } = await created(payer);
    expect(JSON.stringify([shown, railDecision])).not.toMatch(/021000021|000123456789|Ada/);
  });
});

describe('the rail of a new payment', () => {
  it.each([
    ['021000021', 'RTP', null],
    ['121000248', 'FEDNOW', null],
    ['061000146', 'ACH', expect.stringMatching(/^(same_day|standard)$/)],
  ])('with a contact at %s is %s', async (routingNumber, paymentRail, achService) => {
    const payment = await created(await at(routingNumber));
    expect(payment).toMatchObject({ paymentRail, railDecision: { achService } });
  });

  it('is a standard ACH debit for INBOUND', async () => {
    expect(await created(payer, { direction: 'INBOUND' })).toMatchObject({
      paymentRail: 'ACH',
      railDecision: { isPossible: true, achService: 'standard' },
    });
  });

  it('follows the settings of the organization from the next payment on', async () => {
    const one = await createPayer(gateway);
    const before = await created(one);
    const { organizationId } = one.tenant;
    const set = (input: object) =>
      setOrganizationRails({ store: gateway.store, by }, organizationId, input);
    unrefused(await set({ allowedRails: ['ACH', 'FEDNOW'], limits: { FEDNOW: 1_000 } }));
    expect((await created(one, { paymentAmount: 1_000 })).paymentRail).toBe('FEDNOW');
    expect((await created(one, { paymentAmount: 1_001 })).paymentRail).toBe('ACH');
    unrefused(await set({ preference: 'cheapest' }));
    expect((await created(one)).railDecision?.achService).toBe('standard');
    expect(before.paymentRail).toBe('RTP');
    expect((await created(payer)).paymentRail).toBe('RTP');
  });

  it('is recorded although no rail can take it: the payment is accepted', async () => {
    const abroad = await at('021000021', { swiftCode: 'DEUTDEFF' });
    expect(await created(abroad)).toMatchObject({
      status: 'QUEUED',
      paymentRail: 'SWIFT',
      railDecision: { isPossible: false, expectedSettlementAt: null },
    });
  });

  it('is SWIFT for an account abroad whose contact has an address', async () => {
    const legalAddress = {
      addressLine1: 'Hauptstrasse 1',
      city: 'Frankfurt',
      state: 'HE',
      postalCode: '60311',
      countryCode: 'DE',
    };
    const abroad = await createPayer(gateway, {
      legalAddress,
      bankAccount: { ...bankAccount, swiftCode: 'DEUTDEFF' },
    });
    expect((await created(abroad)).paymentRail).toBe('SWIFT');
  });
});

describe('with a banks file', () => {
  const file = path.join(scratch, 'banks.yaml');
  const start = (yaml: string) => {
    writeFileSync(file, yaml);
    return startGateway({ databaseUrl: database.url, changes: { PIS_BANKS_FILE: file } });
  };
  const bank = (rails: string) => `
banks:
  - name: first-bank
    connections:
      - name: first
        rails: [${rails}]
        json: { baseUrl: 'http://127.0.0.1:1' }
        terms: { submissionInFlightMaxMs: 1000, referenceMemoryMs: 100000 }
`;

  it('payments take only rails that a bank takes', async () => {
    const withFile = await start(bank('ACH, FEDNOW'));
    try {
      const one = await createPayer(withFile);
      const payment = await repository(withFile.store, payments).load(idOf(await one.pay()));
      expect(payment.state?.paymentRail).toBe('FEDNOW');
      expect(payment.state?.railDecision?.rejected).toContainEqual({
        paymentRail: 'RTP',
        achService: null,
        code: 'rail_not_connected',
      });
    } finally {
      await withFile.close();
    }
  });

  it('no webhook is registered for the host of a bank, though its network is allowed', async () => {
    writeFileSync(file, bank('ACH'));
    const withFile = await startGateway({
      databaseUrl: database.url,
      changes: { PIS_BANKS_FILE: file, PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'] },
    });
    try {
      const tenant = await withFile.createTenant();
      const register = (url: string) =>
        withFile.call('/v1/webhooks', {
          ...{ tenant, method: 'POST' },
          body: { url, subscribedEvents: ['payment.queued'] },
        });
      expect(codeOf(await register('https://127.0.0.1:1/'))).toBe('400 VALIDATION_ERROR');
      expect(codeOf(await register('https://127.0.0.1:2/'))).toBe('201');
    } finally {
      await withFile.close();
    }
  });

  it('the gateway does not start when the file is wrong', async () => {
    await expect(start(bank('BITCOIN'))).rejects.toThrow(/PIS_BANKS_FILE: line \d+: /);
  });
});

describe('when the routing directory cannot be reached', () => {
  it('a payment is 503, and is created by the same key later', async () => {
    let isAway = true;
    const flaky = await startGateway({
      databaseUrl: database.url,
      banks: {
        find: () =>
          isAway
            ? Promise.reject(Object.assign(new Error('connection lost'), { code: 'ECONNRESET' }))
            : Promise.resolve(null),
      },
    });
    try {
      isAway = false;
      const one = await createPayer(flaky);
      isAway = true;
      expect(codeOf(await one.pay({ key: 'key-1' }))).toBe('503 SERVICE_UNAVAILABLE');
      expect(
        codeOf(await one.pay({ key: 'key-2', body: one.body({ direction: 'INBOUND' }) })),
      ).toBe('201');
      isAway = false;
      expect((await one.pay({ key: 'key-1' })).status).toBe(201);
    } finally {
      await flaky.close();
    }
  });
});
