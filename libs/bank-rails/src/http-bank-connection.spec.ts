import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { jest } from '@jest/globals';
import {
  BankAnswerUnclear,
  BankRefused,
  BankUnavailable,
  simulatedBankTerms,
} from './bank-connection.js';
import { directBankConnection } from './direct-bank-connection.js';
import { httpBankConnection } from './http-bank-connection.js';
import { instructionEnding } from './testing/transfer-instructions.js';
import { closeAfterEach } from '@pis/local-servers/testing';

const atEnd = closeAfterEach();

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Submits one transfer to a bank with this answer and returns the result. */
async function submitTo(answer: Answer, timeoutMs = 5_000): Promise<unknown> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const connection = httpBankConnection({ baseUrl: `http://127.0.0.1:${port}`, timeoutMs });
  try {
    return await connection.submit(instructionEnding('4321')).catch((error: unknown) => error);
  } finally {
    server.closeAllConnections();
    server.close();
    await connection.close();
  }
}

const respond =
  (status: number, body: string): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  };

describe('a bank over HTTP', () => {
  it('is believed when it answers clearly', async () => {
    expect(await submitTo(respond(200, '{"outcome":"accepted","more":1}'))).toEqual({
      outcome: 'accepted',
    });
    expect(await submitTo(respond(422, '{}'))).toBeInstanceOf(BankRefused);
  });

  it.each<[string, Answer]>([
    ['answers 500', respond(500, '{"outcome":"accepted"}')],
    ['answers 503', respond(503, '')],
    ['answers 404', respond(404, '')],
    ['answers 201', respond(201, '{"outcome":"accepted"}')],
    ['redirects', (_, response) => response.writeHead(307, { location: '/elsewhere' }).end()],
    ['answers with something that is not JSON', respond(200, '<html>')],
    ['answers with an outcome nobody knows', respond(200, '{"outcome":"maybe"}')],
    ['answers with more than fits', respond(200, `"${'x'.repeat(2 << 20)}"`)],
    ['hangs up before it answers', (_, response) => response.destroy()],
    [
      'hangs up in the middle of its answer',
      (_, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"outcome":');
        setImmediate(() => response.destroy());
      },
    ],
    ['does not answer in time', () => undefined],
    [
      'answers without end',
      (_, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(' '), 20);
        response.once('close', () => clearInterval(timer));
      },
    ],
  ])('leaves the outcome unknown when it %s', async (_what, answer) => {
    expect(await submitTo(answer, 300)).toBeInstanceOf(BankUnavailable);
  });

  it.each<[string, Answer]>([
    ['answers 500', respond(500, '{"outcome":"accepted"}')],
    ['answers 404', respond(404, '')],
    ['answers with something that is not JSON', respond(200, '<html>')],
    ['answers with an outcome nobody knows', respond(200, '{"outcome":"maybe"}')],
  ])('is there for other requests when it %s', async (_what, answer) => {
    expect(await submitTo(answer)).toBeInstanceOf(BankAnswerUnclear);
  });

  it.each<[string, Answer]>([
    ['answers 503', respond(503, '')],
    ['answers 504', respond(504, '')],
    ['hangs up before it answers', (_, response) => response.destroy()],
  ])('is away for every request when it %s', async (_what, answer) => {
    expect(await submitTo(answer)).not.toBeInstanceOf(BankAnswerUnclear);
  });

  it('leaves the outcome unknown when nobody listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const connection = httpBankConnection({ baseUrl: `http://127.0.0.1:${port}` });
    atEnd(() => connection.close());
    await expect(connection.inquire('x')).rejects.toBeInstanceOf(BankUnavailable);
  });

  it('gets no submission that waited for a connection while the process was frozen', async () => {
    const clock = jest.spyOn(Date, 'now');
    atEnd(() => clock.mockRestore());
    const hanging: ServerResponse[] = [];
    const full = Promise.withResolvers<void>();
    const references: string[] = [];
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        references.push((JSON.parse(body) as { reference: string }).reference);
        if (hanging.push(response) === 32) full.resolve();
      });
    }).listen(0, '127.0.0.1');
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const connection = httpBankConnection({ baseUrl: `http://127.0.0.1:${port}` });
    atEnd(() => connection.close());
    const asked = Array.from({ length: 32 }, (_, n) => connection.inquire(`early-${n}`));
    await full.promise;
    const late = expect(connection.submit(instructionEnding('4321'))).rejects.toThrow(
      BankUnavailable,
    );
    // Its timers have not run when it wakes up.
    clock.mockReturnValue(Date.now() + 3_600_000);
    for (const response of hanging) response.end('{"outcome":"unknown"}');
    await Promise.all(asked);
    await late;
    expect(references).toHaveLength(32);
  });

  it('does not delay closing the connection, and leaves the outcome unknown', async () => {
    const asked = Promise.withResolvers<void>();
    const server = createServer(() => asked.resolve()).listen(0, '127.0.0.1');
    atEnd(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const connection = httpBankConnection({
      baseUrl: `http://127.0.0.1:${port}`,
      timeoutMs: 60_000,
    });
    const outcome = connection.submit(instructionEnding('4321')).catch((error: unknown) => error);
    await asked.promise;
    await connection.close();
    expect(await outcome).toBeInstanceOf(BankUnavailable);
    server.closeAllConnections();
  });
});

describe('a bank in this process', () => {
  const bankThatThrows = (error: Error) =>
    directBankConnection({
      submit: () => Promise.reject(error),
      terms: simulatedBankTerms,
      inquire: () => Promise.reject(error),
      void: () => Promise.reject(error),
      notifications: () => Promise.reject(error),
      onNotification: () => () => undefined,
    });

  it('leaves the outcome unknown when it fails for whatever reason', async () => {
    const cause = new Error('Connection terminated');
    const failure = await bankThatThrows(cause)
      .submit(instructionEnding('4321'))
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BankUnavailable);
    expect(failure).toMatchObject({ cause });
  });

  it('is believed when it refuses', async () => {
    const refusal = new BankRefused('no');
    await expect(bankThatThrows(refusal).inquire('x')).rejects.toBe(refusal);
  });
});

it('an unreadable notification is reported separately, and does not delay others', async () => {
  const readable = {
    ...{ sequence: '1', reference: 'A', type: 'returned', returnReasonCode: 'R01' },
    at: '2026-11-22T06:00:00.000Z',
  };
  const body = JSON.stringify({
    notifications: [
      readable,
      { ...readable, sequence: '2', type: 'reversed' },
      { sequence: '3', text: 'hello' },
      { ...readable, sequence: '4', sentAmountMinor: 4_711 },
      { ...readable, sequence: '5', sentAmountMinor: 'much' },
    ],
    cursor: '5',
  });
  const server = createServer(respond(200, body)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const connection = httpBankConnection({ baseUrl: `http://127.0.0.1:${port}` });
  const unreadable = { type: 'unreadable', returnReasonCode: null };
  try {
    expect(await connection.notifications({ after: '', max: 10 })).toMatchObject({
      notifications: [
        // A bank of an older release names no amount.
        { ...readable, sentAmountMinor: null },
        { sequence: '2', reference: 'A', ...unreadable },
        { sequence: '3', reference: '', ...unreadable },
        { ...readable, sequence: '4', sentAmountMinor: 4_711 },
        { sequence: '5', reference: 'A', ...unreadable },
      ],
      cursor: '5',
    });
  } finally {
    server.closeAllConnections();
    server.close();
    await connection.close();
  }
});
