/** Who gets an export, and which are broken off. */
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { PaymentListItem } from '@pis/contracts';
import { RateLimited } from '@pis/http-api';
import { PaymentExports } from './payment-export.js';

// Time passes only when a test says so.
beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
afterEach(() => jest.useRealTimers());

const token = 'token';
const party = {
  ...{ id: 'id', entityType: 'BUSINESS', firstName: null, lastName: null, companyName: 'Acme' },
} as const;
const item = { paymentId: 'p', paymentNote: 'n'.repeat(500), originator: party, contact: null };
const items = Array.from({ length: 500 }, () => item as unknown as PaymentListItem);

const everyMs = 32_000;

/** Pages without end. */
function world(
  least = { bytes: 1, everyMs },
  pageReady = (_organizationId: string) => Promise.resolve(),
) {
  const list = async (organizationId: string) => {
    await pageReady(organizationId);
    // As a database does, it lets other work go on.
    await setImmediate();
    return { items, next: { createdAt: '2026-11-23T00:00:00.000Z', id: 'p' } };
  };
  const exports = new PaymentExports({ list }, { add: () => undefined }, least);
  return (organizationId: string) => exports.open({ organizationId, filter: {}, token });
}

it('organizations that hold exports open leave room for others', async () => {
  const open = world();
  const held: Readable[] = [];
  for (const organization of ['a', 'a', 'b', 'b']) held.push(await open(organization));
  await expect(open('a')).rejects.toBeInstanceOf(RateLimited);
  for (const organization of ['c', 'd', 'e', 'f']) {
    held.push(await open(organization));
    await expect(open(organization)).rejects.toBeInstanceOf(RateLimited);
  }
  await expect(open('g')).rejects.toBeInstanceOf(RateLimited);
  const closed = new Promise((resolve) => held[0]?.once('close', resolve));
  held[0]?.destroy();
  await closed;
  held.push(await open('g'));
  for (const one of held) one.destroy();
});

const nextPiece = (answer: Readable) => new Promise((resolve) => answer.once('data', resolve));

it('a client that reads too slowly loses its export, and one that reads goes on', async () => {
  const open = world();
  const [stuck, read] = [await open('a'), await open('b')];
  const failed = new Promise<Error>((resolve) => stuck.once('error', resolve));
  jest.advanceTimersByTime(everyMs - 1);
  expect(stuck.destroyed).toBe(false);
  read.resume();
  await nextPiece(read);
  jest.advanceTimersByTime(1);
  expect((await failed).name).toBe('ReadTooSlowly');
  for (let times = 0; times < 3; times += 1) {
    await nextPiece(read);
    jest.advanceTimersByTime(everyMs);
    expect(read.destroyed).toBe(false);
  }
  read.destroy();
});

it('a client is not blamed for the time in which the server reads a page', async () => {
  const [slow, reading] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let pages = 0;
  const open = world({ bytes: 1_000, everyMs }, async (organizationId) => {
    if (organizationId !== 'a') return;
    pages += 1;
    if (pages !== 2) return;
    reading.resolve();
    await slow.promise;
  });
  const answer = await open('a');
  answer.resume();
  await reading.promise;
  // Meanwhile there is nothing that it could take.
  for (let times = 0; times < 3; times += 1) {
    jest.advanceTimersByTime(everyMs);
    expect(answer.destroyed).toBe(false);
  }
  answer.destroy();
  slow.resolve();
});
