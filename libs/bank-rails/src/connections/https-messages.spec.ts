/** Messages over HTTPS, against a real server that asks for a certificate. */
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { makeCertificate, until } from '@pis/local-servers/testing';
import { BankAnswerUnclear, BankRefused, BankUnavailable } from '../bank-connection.js';
import { httpsMessages, type HttpsMessagesOptions } from './https-messages.js';
import { messageMaxBytes, type MessageTransport } from './message-transport.js';
import { inboxPageToWire, inboxQuerySchema } from './message-wire.js';

type Certificate = Awaited<ReturnType<typeof makeCertificate>>;
interface Received {
  readonly method: string;
  readonly path: string;
  readonly messageId: string | undefined;
  readonly type: string | undefined;
  readonly body: Buffer;
}

const untilMs = 30_000;
const xml = Buffer.from('<Document>é</Document>');

let ofServer: Certificate;
let ofClient: Certificate;
let server: Server;
let port: number;
let received: Received[];
let respond: (request: Received, response: ServerResponse) => void;
const opened: MessageTransport[] = [];

beforeAll(async () => {
  [ofServer, ofClient] = await Promise.all([
    makeCertificate(['localhost', '127.0.0.1']),
    makeCertificate(['acme'], 'clientAuth'),
  ]);
});
beforeEach(async () => {
  received = [];
  respond = (_request, response) => response.writeHead(202).end();
  server = await listen({});
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
  await stop(server);
});

function listen(options: { maxVersion?: 'TLSv1.1' | 'TLSv1.2' }, at = 0): Promise<Server> {
  const { key, cert } = ofServer;
  const mutual = { requestCert: true, rejectUnauthorized: true, ca: ofClient.caPem };
  const old = options.maxVersion === 'TLSv1.1' ? { minVersion: 'TLSv1' as const } : {};
  const made = createServer({ key, cert, ...mutual, ...options, ...old }, (request, response) => {
    void bodyOf(request).then((body) => {
      const { method = '', url: path = '', headers } = request;
      const messageId = headers['message-id'] as string | undefined;
      const one = { method, path, messageId, type: headers['content-type'], body };
      received.push(one);
      respond(one, response);
    });
  });
  return new Promise((resolve) => made.listen(at, '127.0.0.1', () => resolve(made)));
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function stop(one: Server): Promise<void> {
  one.closeAllConnections();
  return new Promise((resolve) => one.close(() => resolve()));
}

function open(options: Partial<HttpsMessagesOptions> = {}): MessageTransport {
  const transport = httpsMessages({
    baseUrl: `https://localhost:${port}/v1/`,
    ca: ofServer.caPem,
    certificate: ofClient.cert,
    privateKey: ofClient.key,
    pollMs: 20,
    ...options,
  });
  opened.push(transport);
  return transport;
}

const answering = (status: number, body = '', type = 'application/xml') => {
  respond = (_request, response) => response.writeHead(status, { 'content-type': type }).end(body);
};

it('is sent while requests for the inbox hang', async () => {
  respond = ({ method }, response) => {
    if (method === 'POST') response.writeHead(202).end();
  };
  const transport = open({ connectionsMax: 1 });
  for (let requests = 0; requests < 5; requests += 1)
    transport.inbox({ after: '', max: 1 }).catch(() => undefined);
  await until(() => received.some(({ method }) => method === 'GET'), { timeoutMs: untilMs });
  expect(await transport.send({ id: 'M-1', xml })).toBeNull();
});

describe('a message', () => {
  it('is sent with its ID and its exact bytes, and answered at once', async () => {
    answering(200, '<answer/>', 'Application/XML; charset=utf-8');
    const answer = await open().send({ id: 'M-1', xml });
    expect(Buffer.from(answer ?? []).toString()).toBe('<answer/>');
    expect(received).toEqual([
      {
        method: 'POST',
        path: '/v1/messages',
        messageId: 'M-1',
        type: 'application/xml',
        body: xml,
      },
    ]);
  });

  it.each([202, 204])('that is answered with %d is answered later', async (status) => {
    answering(status);
    expect(await open().send({ id: 'M-1', xml })).toBeNull();
  });

  it.each([400, 413, 415, 422])('that is answered with %d was refused', async (status) => {
    answering(status);
    await expect(open().send({ id: 'M-1', xml })).rejects.toThrow(BankRefused);
  });

  it.each([401, 403, 429, 502, 503, 504, 507])(
    'finds the bank away when it says %d',
    async (status) => {
      answering(status);
      const error = await open()
        .send({ id: 'M-1', xml })
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(BankUnavailable);
      expect(error).toMatchObject({ isUnavailable: true });
    },
  );

  it.each([
    [200, '', 'application/xml'],
    [200, '<html/>', 'text/html'],
    [200, 'x'.repeat(messageMaxBytes + 1), 'application/xml'],
    [500, '<answer/>', 'application/xml'],
    [302, '', 'application/xml'],
  ])('that is answered with %d and %.10j of %s leaves the outcome open', async (...answer) => {
    answering(...answer);
    await expect(open().send({ id: 'M-1', xml })).rejects.toThrow(BankAnswerUnclear);
  });

  it.each(['', 'x'.repeat(36), 'a b', 'a\r\nX-Evil: 1'])(
    'with the ID %j is not sent',
    async (id) => {
      await expect(open().send({ id, xml })).rejects.toThrow(BankRefused);
      expect(received).toEqual([]);
    },
  );

  it('that waits for a connection while the process is frozen is not sent when it wakes up', async () => {
    const clock = jest.spyOn(Date, 'now');
    const transport = open({ connectionsMax: 1 });
    const first = Promise.withResolvers<ServerResponse>();
    respond = (_request, response) => first.resolve(response);
    const sent = transport.send({ id: 'M-1', xml });
    const answer = await first.promise;
    const late = expect(transport.send({ id: 'M-2', xml })).rejects.toThrow(/was not sent/);
    clock.mockReturnValue(Date.now() + 3_600_000);
    respond = (_request, response) => response.writeHead(202).end();
    answer.writeHead(202).end();
    expect(await sent).toBeNull();
    await late;
    await transport.send({ id: 'M-3', xml });
    expect(received.map(({ messageId }) => messageId)).toEqual(['M-1', 'M-3']);
  });

  it('above the limit is not sent', async () => {
    const large = Buffer.alloc(messageMaxBytes + 1);
    await expect(open().send({ id: 'M-1', xml: large })).rejects.toThrow(BankRefused);
    expect(received).toEqual([]);
  });
});

describe('the inbox', () => {
  it('gives the messages with their exact bytes, whatever they are, and the next cursor', async () => {
    const bytes = Buffer.from([0, 255, 60, 10]);
    respond = ({ path }, response) => {
      const query = new URL(path, 'https://bank').searchParams;
      expect(inboxQuerySchema.parse(Object.fromEntries(query))).toEqual({ after: '7', max: 2 });
      const page = { messages: [{ sequence: '8', xml: bytes }], cursor: '8' };
      response.writeHead(200).end(JSON.stringify(inboxPageToWire(page)));
    };
    expect(await open().inbox({ after: '7', max: 2 })).toEqual({
      messages: [{ sequence: '8', xml: bytes }],
      cursor: '8',
    });
  });

  it.each([
    ['no JSON', '<html/>'],
    ['no page', '{"messages":[{"sequence":"1"}],"cursor":"1"}'],
    ['no base64', '{"messages":[{"sequence":"1","xml":"<Document/>"}],"cursor":"1"}'],
    ['more than was asked for', JSON.stringify(twoMessages())],
    ['a sequence that is no text', '{"messages":[{"sequence":"a\\nb","xml":""}],"cursor":"1"}'],
  ])('that answers with %s is unclear', async (_what, body) => {
    answering(200, body, 'application/json');
    await expect(open().inbox({ after: '', max: 1 })).rejects.toThrow(BankAnswerUnclear);
  });

  it('is looked at behind what was read when the bank is to show a sign of life', async () => {
    const transport = open();
    const page = (count: number) => JSON.stringify(twoMessages(count));
    answering(200, page(1), 'application/json');
    await transport.ping();
    answering(200, page(2), 'application/json');
    await transport.inbox({ after: '', max: 2 });
    answering(200, page(0), 'application/json');
    await transport.ping();
    expect(received.map(({ path }) => path.split('?')[1])).toEqual([
      'after=&max=1',
      'after=&max=2',
      'after=2&max=1',
    ]);
    answering(503);
    await expect(transport.ping()).rejects.toBeInstanceOf(BankUnavailable);
  });

  it('is looked at while somebody listens, who is called back', async () => {
    answering(200, JSON.stringify(twoMessages(1)), 'application/json');
    const transport = open();
    const called = new Promise<void>((resolve) => {
      const end = transport.onMessage(() => {
        end();
        resolve();
      });
    });
    await called;
    expect(received.every(({ method }) => method === 'GET')).toBe(true);
  });
});

function twoMessages(count = 2) {
  const messages = Array.from({ length: count }, (_, at) => ({ sequence: `${at + 1}`, xml }));
  return inboxPageToWire({ messages, cursor: String(count) });
}

describe('the two sides', () => {
  it('do not talk when the bank’s certificate is of another authority', async () => {
    const other = await makeCertificate(['localhost']);
    const transport = open({ ca: other.caPem });
    await expect(transport.send({ id: 'M-1', xml })).rejects.toBeInstanceOf(BankUnavailable);
    expect(received).toEqual([]);
  });

  it('do not talk when the bank’s certificate is for another name', async () => {
    const transport = open({ baseUrl: `https://bank.localhost:${port}` });
    await expect(transport.send({ id: 'M-1', xml })).rejects.toBeInstanceOf(BankUnavailable);
    expect(received).toEqual([]);
  });

  it('do not talk when our certificate is not the one that the bank knows', async () => {
    const other = await makeCertificate(['acme'], 'clientAuth');
    const transport = open({ certificate: other.cert, privateKey: other.key });
    await expect(transport.send({ id: 'M-1', xml })).rejects.toBeInstanceOf(BankUnavailable);
    expect(received).toEqual([]);
  });

  it('do not talk without encryption, and not without usable keys', () => {
    expect(() => open({ baseUrl: 'http://localhost:1' })).toThrow('must begin with https://');
    const secret = 'secret nonsense';
    for (const wrong of [{ privateKey: secret }, { certificate: secret }, { ca: secret }])
      expect(() => open(wrong)).toThrow(/^(the certificates|there is no certificate)/);
    const other = { privateKey: ofServer.key };
    expect(() => open(other)).toThrow('cannot be used together');
  });
});

describe('a bank', () => {
  it('that goes away is unavailable, and is used again when it is back', async () => {
    const transport = open();
    await transport.send({ id: 'M-1', xml });
    await stop(server);
    await expect(transport.send({ id: 'M-2', xml })).rejects.toBeInstanceOf(BankUnavailable);
    server = await listen({}, port);
    await until(() => transport.send({ id: 'M-2', xml }).then(() => true), { timeoutMs: untilMs });
    expect(received.map(({ messageId }) => messageId)).toEqual(['M-1', 'M-2']);
  });

  it('that does not answer is given up after the time limit', async () => {
    respond = () => undefined;
    const transport = open({ timeoutMs: 300 });
    await expect(transport.send({ id: 'M-1', xml })).rejects.toBeInstanceOf(BankUnavailable);
  });

  it('that answers without end is cut off', async () => {
    respond = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1 << 20, 'x')));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    await expect(open().inbox({ after: '', max: 1 })).rejects.toBeInstanceOf(BankUnavailable);
  });
});
