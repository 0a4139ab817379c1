import { randomUUID } from 'node:crypto';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createContact, type Gateway, startGateway } from './testing/gateway.js';
import { codeOf, createPayer, idOf, inHeader, type Payer } from './testing/payments.js';

/** Creating and reading single payments needs no list. */
const databaseUrl = 'postgres://nobody@127.0.0.1:1/nothing';

let gateway: Gateway;
let payer: Payer;

beforeAll(async () => {
  gateway = await startGateway({ databaseUrl, projects: false });
  payer = await createPayer(gateway);
});
afterAll(() => gateway?.close());

const conflict = '409 IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY';
const differs = (paymentId: string, fields: string) =>
  `this Idempotency-Key created payment ${paymentId} from a request that differs in: ${fields}`;
const isReplay = ({ headers }: Awaited<ReturnType<Payer['pay']>>) =>
  headers['idempotent-replayed'] === 'true';

describe('the same key', () => {
  it('with the same body replays the ID, in any key order and with unknown fields', async () => {
    const key = randomUUID();
    const first = await payer.pay({ key });
    expect(isReplay(first)).toBe(false);
    const entries = Object.entries(payer.body({ paymentNote: null, unknown: { a: 1 } })).reverse();
    const again = await payer.pay({ key, body: Object.fromEntries(entries) });
    expect(codeOf(again)).toBe('201');
    expect(idOf(again)).toBe(idOf(first));
    expect(isReplay(again)).toBe(true);
    expect(await gateway.store.readStream(`payment-${idOf(first)}`)).toHaveLength(1);
  });

  it('also replays the same values written differently', async () => {
    const key = randomUUID();
    const first = await payer.pay({ key });
    const { originatorId } = payer.tenant;
    const text = `{"direction":"OUTBOUND","paymentAmount":1.2345e4,
      "externalPaymentId":null,"contactId":"${payer.contactId.toUpperCase()}",
      "originatorId":"\\u${originatorId.charCodeAt(0).toString(16).padStart(4, '0')}${originatorId.slice(1)}"}`;
    expect(idOf(await payer.pay({ key, body: text }))).toBe(idOf(first));
  });

  it.each([
    ['originatorId', () => randomUUID()],
    ['contactId', () => randomUUID()],
    ['paymentAmount', () => 12_346],
    ['direction', () => 'INBOUND'],
    ['paymentNote', () => 'Rent'],
    ['paymentNote', () => ''],
    ['externalPaymentId', () => 'x-1'],
  ])(
    'with another %s is a conflict that names it and the original payment',
    async (field, value) => {
      const key = randomUUID();
      const first = await payer.pay({ key });
      const reply = await payer.pay({ key, body: payer.body({ [field]: value() }) });
      expect(codeOf(reply)).toBe(conflict);
      expect(reply.body?.error).toEqual({
        code: 'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY',
        message: differs(idOf(first), field),
      });
      expect(JSON.stringify(reply.body)).not.toContain('12345');
    },
  );

  it('with a body that differs in several fields names each of them', async () => {
    const key = randomUUID();
    const body = { paymentNote: 'Rent', externalPaymentId: 'x-1' };
    const first = await payer.pay({ key, body: payer.body(body) });
    const other = payer.body({ paymentAmount: 1, externalPaymentId: 'X-1' });
    expect((await payer.pay({ key, body: other })).body?.error?.message).toBe(
      differs(idOf(first), 'paymentAmount, paymentNote, externalPaymentId'),
    );
  });

  it('is locked forever, whatever happens to the records', async () => {
    const own = await createContact(gateway, payer.tenant, { email: 'changed@x.example' });
    const key = randomUUID();
    const body = payer.body({ contactId: own });
    const first = await payer.pay({ key, body });
    const cleared = { tenant: payer.tenant, method: 'PATCH', body: { bankAccount: null } } as const;
    expect((await gateway.call(`/v1/contacts/${own}`, cleared)).status).toBe(200);
    expect(idOf(await payer.pay({ key, body }))).toBe(idOf(first));
    expect(codeOf(await payer.pay({ body }))).toBe('400 VALIDATION_ERROR');
  });

  it('is free again after any other answer, also for a corrected body', async () => {
    const key = randomUUID();
    const bare = await createContact(gateway, payer.tenant, {
      email: 'bare@x.example',
      bankAccount: null,
    });
    const wrong: [unknown, string][] = [
      [payer.body({ paymentAmount: 0 }), '400 VALIDATION_ERROR'],
      [payer.body({ contactId: randomUUID() }), '404 NOT_FOUND'],
      [payer.body({ contactId: bare }), '400 VALIDATION_ERROR'],
      ['{"a":1,"a":2}', '400 INVALID_JSON'],
    ];
    for (const [body, code] of wrong) expect(codeOf(await payer.pay({ key, body }))).toBe(code);
    const created = await payer.pay({ key });
    expect(codeOf(created)).toBe('201');
    expect(isReplay(created)).toBe(false);
    // For a used key, an invalid body is still reported first.
    expect(codeOf(await payer.pay({ key, body: payer.body({ paymentAmount: 0 }) }))).toBe(
      '400 VALIDATION_ERROR',
    );
  });

  it('of another organization is another key', async () => {
    const key = randomUUID();
    const first = await payer.pay({ key });
    const second = await (await createPayer(gateway)).pay({ key });
    expect(codeOf(second)).toBe('201');
    expect(isReplay(second)).toBe(false);
    expect(idOf(second)).not.toBe(idOf(first));
  });
});

describe('parallel requests with one key', () => {
  it('create one payment for fifty requests', async () => {
    const key = randomUUID();
    const replies = await Promise.all(Array.from({ length: 50 }, () => payer.pay({ key })));
    expect(new Set(replies.map(codeOf))).toEqual(new Set(['201']));
    expect(new Set(replies.map(idOf)).size).toBe(1);
    expect(replies.filter(isReplay)).toHaveLength(49);
  });

  it('with mixed bodies: exactly one body wins, and all others are refused', async () => {
    const key = randomUUID();
    const amountOf = (at: number) => 1 + (at % 5);
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        payer.pay({ key, body: payer.body({ paymentAmount: amountOf(at) }) }),
      ),
    );
    const winners = replies.filter(({ status }) => status === 201);
    expect(winners).toHaveLength(10);
    expect(winners.filter(isReplay)).toHaveLength(9);
    expect(new Set(winners.map(idOf)).size).toBe(1);
    expect(new Set(replies.map(codeOf))).toEqual(new Set(['201', conflict]));
    const [winner] = winners;
    const { data } = (await payer.get(winner ? idOf(winner) : '')).body ?? {};
    const { paymentAmount } = data as { paymentAmount: number };
    const won = replies.flatMap((reply, at) => (reply.status === 201 ? [amountOf(at)] : []));
    expect(new Set(won)).toEqual(new Set([paymentAmount]));
  });
});

describe('a process that dies', () => {
  it('between the append and the answer leaves a payment that the retry replays', async () => {
    const { store, dieNext } = forgetfulStore();
    const fresh = await startGateway({ databaseUrl, store, projects: false });
    try {
      const own = await createPayer(fresh);
      const key = randomUUID();
      dieNext();
      expect(codeOf(await own.pay({ key }))).toBe('500 INTERNAL_ERROR');
      const other = await own.pay({ key, body: own.body({ paymentAmount: 1 }) });
      expect(codeOf(other)).toBe(conflict);
      const retry = await own.pay({ key });
      expect(codeOf(retry)).toBe('201');
      expect(isReplay(retry)).toBe(true);
      expect(await store.readStream(`payment-${idOf(retry)}`)).toHaveLength(1);
    } finally {
      await fresh.close();
    }
  });
});

/** A store that makes the next append but does not return its result. */
function forgetfulStore(): { store: EventStore; dieNext: () => void } {
  const memory = memoryEventStore();
  let dies = false;
  const append: EventStore['append'] = async (...args) => {
    const result = await memory.append(...args);
    if (!dies) return result;
    dies = false;
    throw new Error('the process died: account 000123456789');
  };
  return { store: { ...memory, append }, dieNext: () => void (dies = true) };
}

describe('an Idempotency-Key', () => {
  const missing = '400 IDEMPOTENCY_KEY_REQUIRED';
  const payWith = (headers: Record<string, string>) =>
    gateway.call('/v1/payments', {
      tenant: payer.tenant,
      method: 'POST',
      body: payer.body(),
      headers,
    });

  it('has 1 to 255 characters, of any alphabet', async () => {
    expect(codeOf(await payWith({}))).toBe(missing);
    expect(codeOf(await payer.pay({ key: '' }))).toBe(missing);
    for (const character of ['k', 'ü', '漢', '😀']) {
      expect(codeOf(await payer.pay({ key: inHeader(character.repeat(255)) }))).toBe('201');
      expect(codeOf(await payer.pay({ key: inHeader(character.repeat(256)) }))).toBe(missing);
    }
  });

  it('that is not UTF-8 counts by its bytes, and never equals one in UTF-8', async () => {
    expect(codeOf(await payer.pay({ key: 'é'.repeat(255) }))).toBe('201');
    expect(codeOf(await payer.pay({ key: 'é'.repeat(256) }))).toBe(missing);
    const keys = [
      'é',
      inHeader('é'),
      inHeader('\ufffdé'),
      inHeader('\u0301e'),
      inHeader('e\u0301'),
    ];
    const replies = await Promise.all(keys.map((key) => payer.pay({ key })));
    expect(new Set(replies.map(idOf)).size).toBe(keys.length);
    expect(isReplay(await payer.pay({ key: 'é' }))).toBe(true);
  });

  it('is compared exactly: case, inner white space and accents make another key', async () => {
    const keys = ['Key a', 'key a', 'key  a', 'key\ta', 'keya', 'a,b', 'a, b', inHeader('kéy a')];
    const replies = await Promise.all(keys.map((key) => payer.pay({ key })));
    expect(replies.filter(isReplay)).toEqual([]);
    expect(new Set(replies.map(idOf)).size).toBe(keys.length);
  });

  it('is found by the list, whatever its characters', async () => {
    for (const key of ['a key, with %41 & = +', 'ключ 漢 😀', '"quoted"']) {
      const paymentId = idOf(await payer.pay({ key: inHeader(key) }));
      const reply = await payer.list(`?idempotencyKey=${encodeURIComponent(key)}`);
      expect(reply.body?.data).toMatchObject([{ paymentId }]);
    }
  });

  it('given twice is refused as ambiguous', async () => {
    for (const keys of [
      ['a', 'b'],
      ['a', 'a'],
      ['', 'a'],
    ]) {
      const reply = await gateway.app.inject({
        method: 'POST',
        url: '/v1/payments/',
        headers: {
          authorization: `Bearer ${payer.tenant.keys.full_access}`,
          'content-type': 'application/json',
          'idempotency-key': keys,
        },
        payload: JSON.stringify(payer.body()),
      });
      expect([reply.statusCode, reply.json<object>()]).toMatchObject([
        400,
        { error: { code: 'IDEMPOTENCY_KEY_REQUIRED' } },
      ]);
    }
  });
});
