/** Hostile and odd bodies, over a real socket where HTTP itself is part of the question. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { openApiDocument } from '@pis/contracts';
import { type Gateway, startGateway } from './testing/gateway.js';
import { codeOf, createPayer, issuesOf, type Payer } from './testing/payments.js';

let gateway: Gateway;
let payer: Payer;
let port: number;

beforeAll(async () => {
  gateway = await startGateway({
    databaseUrl: 'postgres://nobody@127.0.0.1:1/nothing',
    projects: false,
  });
  payer = await createPayer(gateway);
  await gateway.app.listen(0, '127.0.0.1');
  ({ port } = gateway.app.getHttpServer().address() as AddressInfo);
});
afterAll(() => gateway?.close());

/** The text of an object with one more member. */
const withMember = (body: object, member: string) =>
  `${JSON.stringify(body).slice(0, -1)},${member}}`;

describe('the amount of a payment', () => {
  const payWith = (literal: string) => {
    const { paymentAmount: _, ...others } = payer.body();
    return payer.pay({ body: withMember(others, `"paymentAmount":${literal}`) });
  };

  it.each([
    ['1e400', 'validation_max'],
    ['-1e400', 'validation_min'],
    ['1e22', 'validation_max'],
    ['12345678901234567890', 'validation_max'],
    ['100000000000', 'validation_max'],
    ['-0', 'validation_min'],
    ['0', 'validation_min'],
    ['-12345', 'validation_min'],
    ['10.5', 'validation_integer'],
    ['1e-400', 'validation_min'],
    ['"100"', 'validation_type'],
    ['true', 'validation_type'],
    ['[100]', 'validation_type'],
    ['{"valueOf":100}', 'validation_type'],
    ['null', 'validation_required'],
  ])('%s is refused with %s', async (literal, issue) => {
    const reply = await payWith(literal);
    expect(codeOf(reply)).toBe('400 VALIDATION_ERROR');
    expect(issuesOf(reply)).toEqual([`paymentAmount ${issue}`]);
  });

  it.each([
    ['1', 1],
    ['1.0', 1],
    ['1e3', 1_000],
    ['99999999999', 99_999_999_999],
  ])('%s is taken for %i', async (literal, amount) => {
    const reply = await payWith(literal);
    expect(codeOf(reply)).toBe('201');
    const { paymentId } = reply.body?.data as { paymentId: string };
    expect((await payer.get(paymentId)).body?.data).toMatchObject({ paymentAmount: amount });
  });

  it.each(['+1', '01', '.5', '1.', '0x10', '1_000', 'NaN', 'Infinity', '1n', "'1'"])(
    '%s is no JSON',
    async (literal) => {
      expect(codeOf(await payWith(literal))).toBe('400 INVALID_JSON');
    },
  );
});

const { paths } = openApiDocument({ sandbox: true }) as unknown as {
  paths: Record<string, Record<string, { requestBody?: unknown }>>;
};
/** Every operation with a body. The IDs need not exist: bodies are checked first. */
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { requestBody }]) =>
    requestBody === undefined ? [] : [[method.toUpperCase() as 'POST' | 'PATCH', path] as const],
  ),
);

const notJson: readonly (readonly [string, string | Buffer])[] = [
  ['a key twice', '{"a":1,"a":1}'],
  ['a key twice, once escaped', '{"a":1,"\\u0061":1}'],
  ['a key twice, in a field we do not know', '{"x":[{"y":{"z":1,"\\u007a":2}}]}'],
  ['the empty key twice', '{"":1,"":2}'],
  ['__proto__', '{"__proto__":{"entityType":"BUSINESS"}}'],
  ['__proto__, escaped', '{"\\u005f\\u005fproto__":null}'],
  ['10,000 lists inside each other', `{"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
  ['10,000 objects inside each other', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
  ['invalid UTF-8', Buffer.from([...Buffer.from('{"email":"'), 0xc3, 0x28, ...Buffer.from('"}')])],
  ['UTF-8 of a surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ['an overlong UTF-8 form', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
  ['UTF-16', Buffer.from('{"email":"a@b.example"}', 'utf16le')],
  ['a byte order mark', '\ufeff{}'],
  ['a NUL outside of strings', '{"a":1}\0'],
  ['a raw NUL in a string', '{"a":"\0"}'],
  ['white space alone', ' \r\n\t'],
  ['half of it', '{"email":"a@b.'],
  ['two values', '{}{}'],
  ['a trailing comma', '{"a":1,}'],
];

const notValid: readonly (readonly [string, string])[] = [
  ['a list', '[]'],
  ['a text', '"{}"'],
  ['a number', '1e400'],
  ['true', 'true'],
  ['null', 'null'],
];

/** Well-formed bodies with fields of wrong types. None of them may cause a 500. */
const confusing = (value: string) =>
  `{${[
    'originatorId',
    'contactId',
    'entityType',
    'firstName',
    'lastName',
    'companyName',
    'email',
    'phoneNumber',
    'legalAddress',
    'bankAccount',
    'paymentAmount',
    'direction',
    'paymentNote',
    'externalPaymentId',
    'url',
    'subscribedEvents',
    'label',
    'enabled',
    'eventType',
    'outcome',
    'returnReasonCode',
    'overlapHours',
    'from',
    'to',
    'eventTypes',
  ]
    .map((name) => `"${name}":${value}`)
    .join(',')}}`;

describe.each(operations)('%s %s', (method, path) => {
  const send = async (payload: string | Buffer) => {
    const reply = await gateway.app.inject({
      method,
      url: path.replaceAll(/\{\w+\}/g, () => randomUUID()),
      headers: {
        authorization: `Bearer ${payer.tenant.keys.full_access}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      payload,
    });
    const { error } = reply.json<{ error?: { code: string; message: string } }>();
    if (error) expect(error.message).toEqual(expect.any(String));
    return `${reply.statusCode} ${error?.code ?? ''}`;
  };

  it('answers INVALID_JSON to invalid JSON', async () => {
    for (const [what, body] of notJson)
      expect([what, await send(body)]).toEqual([what, '400 INVALID_JSON']);
  });

  it('answers VALIDATION_ERROR to JSON that is not an object', async () => {
    for (const [what, body] of notValid)
      expect([what, await send(body)]).toEqual([what, '400 VALIDATION_ERROR']);
  });

  it('never fails on fields of the wrong type', async () => {
    const values = [
      '1e400',
      '-1.5',
      '12345678901234567890123',
      '"\\u0000"',
      '"\\ud800"',
      '"😀"',
      `"${'x'.repeat(2_500)}"`,
      '[[]]',
      '[null]',
      '[1e400]',
      '{}',
      '{"length":1}',
      '{"constructor":{"prototype":{"x":1}},"hasOwnProperty":1,"toString":2,"then":3}',
      'false',
    ];
    for (const value of values)
      expect([value, await send(confusing(value))]).toEqual([value, '400 VALIDATION_ERROR']);
  });

  it('treats keys that are special in JavaScript as unknown fields', async () => {
    const status = await send('{"constructor":{"prototype":1},"hasOwnProperty":1,"valueOf":{}}');
    expect(status).toMatch(/^(400 VALIDATION_ERROR|404 NOT_FOUND)$/);
  });
});

it('a body with ten thousand problems gets a report of a hundred', async () => {
  const subscribedEvents = Array.from({ length: 10_000 }, () => 'a');
  const body = { url: 'https://203.0.113.7/', subscribedEvents };
  const { tenant } = payer;
  const reply = await gateway.call('/v1/webhooks', { tenant, method: 'POST', body });
  expect(codeOf(reply)).toBe('400 VALIDATION_ERROR');
  expect(issuesOf(reply)).toEqual(
    Array.from({ length: 100 }, (_, at) => `subscribedEvents.${at} validation_event_type`),
  );
});

describe('text', () => {
  it.each(['\\u0000', 'a\\u0000b', '\\ud83d', '\\udc00 alone'])(
    'with %s is refused with a description, because no store accepts it',
    async (text) => {
      for (const field of ['paymentNote', 'externalPaymentId']) {
        const reply = await payer.pay({ body: withMember(payer.body(), `"${field}":"${text}"`) });
        expect(codeOf(reply)).toBe('400 VALIDATION_ERROR');
        expect(issuesOf(reply)).toEqual([`${field} must not contain NUL or unpaired surrogates`]);
      }
    },
  );

  it('is shown as it was sent, including other control characters and emoji', async () => {
    const paymentNote = 'a\u0001\tb\r\nü 漢 😀 \u202e <script>&amp;';
    const reply = await payer.pay({ body: payer.body({ paymentNote }) });
    const { paymentId } = reply.body?.data as { paymentId: string };
    expect((await payer.get(paymentId)).body?.data).toMatchObject({ paymentNote });
  });
});

describe('over the wire', () => {
  const bytesMax = 64 * 1024;
  const headers = (...more: string[]) =>
    [
      'POST /v1/contacts/ HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${payer.tenant.keys.full_access}`,
      'Content-Type: application/json',
      ...more,
      '\r\n',
    ].join('\r\n');
  /** Writes until the other side answers, then gives the status line and the code. */
  const exchange = async (write: (socket: ReturnType<typeof connect>) => void) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const answered = new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        received += String(chunk);
        if (/\r\n\r\n.*\}\}?$/s.test(received)) resolve();
      });
      socket.on('close', () => resolve());
    });
    // The client is cut off while it still writes.
    socket.on('error', () => undefined);
    write(socket);
    await answered;
    socket.destroy();
    if (!socket.closed) await once(socket, 'close');
    const [status] = /(?<=HTTP\/1\.1 )\d+/.exec(received) ?? [''];
    const [code] = /(?<="code":")\w+/.exec(received) ?? [''];
    return `${status} ${code}`;
  };
  const chunked = (body: string, size = 1_000) =>
    exchange((socket) => {
      socket.write(headers('Transfer-Encoding: chunked'));
      for (let at = 0; at < body.length; at += size) {
        const chunk = body.slice(at, at + size);
        socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
      }
      socket.write('0\r\n\r\n');
    });
  const sized = (body: string) =>
    exchange((socket) => socket.write(`${headers(`Content-Length: ${body.length}`)}${body}`));
  const bodyOf = (bytes: number) => JSON.stringify({ x: 'x'.repeat(bytes - '{"x":""}'.length) });

  it.each([
    ['with its length', sized],
    ['in chunks', chunked],
  ])('64 KiB %s are read, and one byte more is not', async (_how, send) => {
    expect(await send(bodyOf(bytesMax))).toBe('400 VALIDATION_ERROR');
    expect(await send(bodyOf(bytesMax + 1))).toBe('413 PAYLOAD_TOO_LARGE');
  });

  it('a body that is too large is refused with the limit', async () => {
    const paymentNote = 'x'.repeat(bytesMax);
    const { body } = await payer.pay({ body: payer.body({ paymentNote }) });
    expect(body?.error?.message).toBe('the body exceeds 64 KiB');
  });

  it('endless chunks are cut off at the limit', async () => {
    const chunk = `${(4_096).toString(16)}\r\n${'x'.repeat(4_096)}\r\n`;
    const answer = await exchange((socket) => {
      const go = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', go);
      socket.write(headers('Transfer-Encoding: chunked'));
      go();
    });
    expect(answer).toBe('413 PAYLOAD_TOO_LARGE');
  });

  it('a length beyond the limit is refused before the body is sent', async () => {
    const announce = (length: string) =>
      exchange((socket) => socket.write(headers(`Content-Length: ${length}`)));
    expect(await announce('70000')).toBe('413 PAYLOAD_TOO_LARGE');
    expect(await announce('9007199254740991')).toBe('413 PAYLOAD_TOO_LARGE');
    expect(await announce('-1')).toBe('400 VALIDATION_ERROR');
    expect(await announce('1e3')).toBe('400 VALIDATION_ERROR');
  });

  it('a missing or empty body is refused with the missing fields', async () => {
    expect(await sized('')).toBe('400 VALIDATION_ERROR');
    expect(await chunked('')).toBe('400 VALIDATION_ERROR');
  });
});
