/**
 * The fields of a payment in each of the nine statuses: in the single read, in the list and in the event of a
 * webhook (rules masking-1 to masking-8). For states that no API request reaches, the specs use the commands
 * of other apps.
 */
import { payment as payments, paymentStatuses } from '@pis/domain';
import { repository } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { bankAccount, type Gateway, startGatewayWithDatabase } from './testing/gateway.js';
import { createPayer, idOf, itemsOf, type Payer } from './testing/payments.js';
import {
  answer,
  cancel,
  complete,
  eventsOf,
  failed,
  late,
  linked,
  move,
  process,
  rejection,
  returned,
  type Shown,
  type Step,
} from './testing/payment-histories.js';

let gateway: Gateway;
let payer: Payer;

beforeAll(async () => {
  gateway = await startGatewayWithDatabase();
  payer = await createPayer(gateway, { bankAccount: { ...bankAccount, swiftCode: 'CHASUS33XXX' } });
});
afterAll(async () => {
  await gateway?.close();
});

const created = async (...steps: readonly Step[]) => {
  const paymentId = idOf(await payer.pay({ body: payer.body({ direction: 'INBOUND' }) }));
  await move(payer, paymentId, ...steps);
  return paymentId;
};
const canceled = async (counterparty: 'saved' | 'unsaved') => {
  const paymentId = await linked(payer, counterparty);
  await move(payer, paymentId, cancel);
  return paymentId;
};
const answered = async (counterparty: 'saved' | 'unsaved') => {
  const paymentId = await linked(payer, counterparty);
  await answer(payer, paymentId);
  return paymentId;
};

type Contact = 'whole' | 'without account' | 'null';

interface Case {
  readonly what: string;
  readonly make: () => Promise<string>;
  readonly status: string;
  readonly contact: Contact;
  /** The fields with a value that depends on the status. All others are null. */
  readonly set: Readonly<Record<string, unknown>>;
}

const anyTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;
const failure = { failedAt: anyTime, failureMessage: rejection, failureReason: rejection };
const conditional = [
  'completedAt',
  'failedAt',
  'returnedAt',
  'canceledAt',
  'failureCode',
  'failureMessage',
  'failureReason',
  'returnReasonCode',
];

const cases: readonly Case[] = [
  {
    what: 'a link to a saved contact',
    make: () => linked(payer, 'saved'),
    status: 'AWAITING_CONFIRMATION',
    contact: 'without account',
    set: {},
  },
  {
    what: 'a link to somebody who is no saved contact',
    make: () => linked(payer, 'unsaved'),
    status: 'AWAITING_CONFIRMATION',
    contact: 'null',
    set: {},
  },
  {
    what: 'a link to nobody in particular',
    make: () => linked(payer, 'unsaved', false),
    status: 'AWAITING_CONFIRMATION',
    contact: 'null',
    set: {},
  },
  {
    what: 'canceled, a saved contact',
    make: () => canceled('saved'),
    status: 'CANCELED',
    contact: 'without account',
    set: { canceledAt: anyTime },
  },
  {
    what: 'canceled, no saved contact',
    make: () => canceled('unsaved'),
    status: 'CANCELED',
    contact: 'null',
    set: { canceledAt: anyTime },
  },
  {
    what: 'created through the API',
    make: () => created(),
    status: 'QUEUED',
    contact: 'whole',
    set: {},
  },
  {
    what: 'a saved contact answered',
    make: () => answered('saved'),
    status: 'QUEUED',
    contact: 'whole',
    set: {},
  },
  {
    what: 'somebody who is no saved contact answered',
    make: () => answered('unsaved'),
    status: 'QUEUED',
    contact: 'whole',
    set: {},
  },
  {
    what: 'submitted',
    make: () => created(process),
    status: 'PROCESSING',
    contact: 'whole',
    set: {},
  },
  {
    what: 'handed off',
    make: () => created(process, complete),
    status: 'COMPLETED',
    contact: 'whole',
    set: { completedAt: anyTime },
  },
  {
    what: 'settled late',
    make: () => created(process, late, complete),
    status: 'COMPLETED',
    contact: 'whole',
    set: { completedAt: anyTime },
  },
  ...(['INVALID_ORIGINATOR_DATA', 'INVALID_CONTACT_DATA', 'INTERNAL_ERROR'] as const).map(
    (failureCode) => ({
      what: failureCode,
      make: () => created(failed(failureCode)),
      status: 'FAILED',
      contact: 'whole' as const,
      set: { ...failure, failureCode },
    }),
  ),
  {
    what: 'no confirmation in time',
    make: () => created(process, late),
    status: 'FAILED_IN_FLIGHT',
    contact: 'whole',
    set: { failedAt: anyTime, failureReason: 'no confirmation' },
  },
  {
    what: 'stopped by review',
    make: () => created({ type: 'BlockPayment', data: {} }),
    status: 'BLOCKED',
    contact: 'whole',
    set: {},
  },
  {
    what: 'returned with a code',
    make: () => created(process, complete, returned('R07')),
    status: 'RETURNED',
    contact: 'whole',
    set: { completedAt: anyTime, returnedAt: anyTime, returnReasonCode: 'R07' },
  },
  {
    what: 'returned without one',
    make: () => created(process, complete, returned(null)),
    status: 'RETURNED',
    contact: 'whole',
    set: { completedAt: anyTime, returnedAt: anyTime },
  },
];

const masked = {
  bankName: expect.any(String) as string,
  swiftCode: '*******3XXX',
  subType: 'CHECKING',
  achRoutingNumber: '*****0021',
  achAccountNumber: '********6789',
};

it('every status is among the cases', () => {
  expect(new Set(cases.map(({ status }) => status))).toEqual(new Set(paymentStatuses));
});

describe.each(cases)('$status: $what', ({ make, status, contact, set }) => {
  let paymentId: string;
  let single: Shown;
  /** Of somebody who is no saved contact. */
  let counterpartyId: string | null;
  beforeAll(async () => {
    paymentId = await make();
    single = (await payer.get(paymentId)).body?.data as Shown;
    const { state } = await repository(payer.gateway.store, payments).load(paymentId);
    counterpartyId = state?.contactId === null ? (state.link?.counterpartyId ?? null) : null;
  });

  it('has the fields of its status, and null for all others', () => {
    expect(single.status).toBe(status);
    for (const field of conditional)
      expect([field, single[field]]).toEqual([field, set[field] ?? null]);
    expect(single.originator).toMatchObject({
      id: payer.tenant.originatorId,
      bankAccount: { achAccountNumber: '********1000', achRoutingNumber: '*****0021' },
    });
    if (contact === 'null') expect(single.contact).toBeNull();
    else
      expect(single.contact).toEqual({
        id: counterpartyId ?? payer.contactId,
        firstName: 'Ada',
        lastName: 'Lovelace',
        companyName: null,
        entityType: 'INDIVIDUAL',
        bankAccount: contact === 'whole' ? masked : null,
      });
  });

  it('is the same in the list, without the reasons and the accounts', async () => {
    const item = await until(
      async () => {
        const items = itemsOf(await payer.list(`?limit=100&status=${status}`));
        return items.find((listed) => listed['paymentId'] === paymentId) ?? false;
      },
      { timeoutMs: 20_000 },
    );
    const {
      failureReason: _,
      returnReasonCode: __,
      originator,
      contact: party,
      ...others
    } = single;
    const withoutAccount = ({ bankAccount: ___, ...shown }: Readonly<Record<string, unknown>>) =>
      shown;
    expect(item).toEqual({
      ...others,
      originator: withoutAccount(originator),
      contact: party && withoutAccount(party),
    });
    expect(Object.keys(item)).toEqual(
      Object.keys(single).filter((name) => !['failureReason', 'returnReasonCode'].includes(name)),
    );
  });

  it('is sent as it is read at that moment, with the previous status', async () => {
    const events = await eventsOf(payer, paymentId);
    const { previousStatus, ...data } = events.at(-1) ?? { previousStatus: undefined };
    expect(data).toEqual(single);
    expect(previousStatus).toBe(events.at(-2)?.status ?? null);
    for (const [at, event] of events.entries())
      expect(event.previousStatus).toBe(events[at - 1]?.status ?? null);
  });
});

describe('a snapshot', () => {
  it('stays unchanged, whatever happens to the payment and its records', async () => {
    const paymentId = await created(process);
    const before = await eventsOf(payer, paymentId);
    await gateway.call(`/v1/contacts/${payer.contactId}`, {
      tenant: payer.tenant,
      method: 'PATCH',
      body: { phoneNumber: '+12125550123' },
    });
    await move(payer, paymentId, complete, returned('R01'));
    const after = await eventsOf(payer, paymentId);
    expect(after.slice(0, 2)).toEqual(before);
    expect(after.map(({ status }) => status)).toEqual([
      'QUEUED',
      'PROCESSING',
      'COMPLETED',
      'RETURNED',
    ]);
  });

  it('keeps the failure that a late confirmation clears', async () => {
    const events = await eventsOf(payer, await created(process, late, complete));
    expect(events.map(({ status, failureReason }) => [status, failureReason])).toEqual([
      ['QUEUED', null],
      ['PROCESSING', null],
      ['FAILED_IN_FLIGHT', 'no confirmation'],
      ['COMPLETED', null],
    ]);
  });
});

describe('numbers', () => {
  it.each([
    ['1234', '**34'],
    ['12345', '*2345'],
    ['00000', '*0000'],
    ['12345678901234567', '*************4567'],
  ])('the account number %s shows as %s everywhere', async (achAccountNumber, shown) => {
    const own = await createPayer(gateway, {
      bankAccount: { ...bankAccount, achAccountNumber, swiftCode: 'CHASUS33' },
    });
    const paymentId = idOf(await own.pay());
    const { contact } = (await own.get(paymentId)).body?.data as Shown;
    const numbers = {
      achAccountNumber: shown,
      achRoutingNumber: '*****0021',
      swiftCode: '****US33',
    };
    expect(contact).toMatchObject({ bankAccount: numbers });
    const contacts = itemsOf(await gateway.call('/v1/contacts/', { tenant: own.tenant }));
    expect(contacts).toMatchObject([{ bankAccount: numbers }]);
    const [event] = await eventsOf(payer, paymentId);
    expect(event?.contact).toMatchObject({ bankAccount: numbers });
    const texts = JSON.stringify([contact, contacts, event, await own.list()]);
    expect(texts).not.toMatch(new RegExp(`"${achAccountNumber}"|021000021|CHASUS33`));
  });

  it('no parameter gives the full number', async () => {
    const paymentId = await created();
    for (const query of ['unmasked=true', 'mask=false', 'fields=bankAccount', 'expand=contact']) {
      const path = `/v1/payments/${paymentId}?${query}`;
      const reply = await gateway.call(path, { tenant: payer.tenant });
      expect((reply.body?.data as Shown).contact).toMatchObject({ bankAccount: masked });
    }
  });
});
