import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { jest } from '@jest/globals';
import { answerCheckMs, AnswerWatch } from './answer-watch.js';
import { type DownloadReply, Downloads } from './downloads.js';
import { RateLimited } from './rate-limit.js';

beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] }));
afterEach(() => jest.useRealTimers());

/** More than any client has room for. */
function* endless() {
  for (;;) yield Buffer.alloc(64 * 1024);
}
const file = () => Readable.from(endless(), { objectMode: false });

/** An answer that has not been sent, on an open connection. */
const openReply = () =>
  ({ sent: false, raw: Object.assign(new EventEmitter(), { closed: false }) }) as {
    sent: boolean;
    raw: DownloadReply['raw'] & EventEmitter & { closed: boolean };
  };

const closed = (bytes: Readable) => new Promise((resolve) => bytes.once('close', resolve));

/** Readers are valid until they are taken out. */
function world() {
  const valid = new Set(['ada', 'bob']);
  const failures: unknown[] = [];
  let checks: () => Promise<ReadonlySet<string>> = () => Promise.resolve(valid);
  const watch = new AnswerWatch<string>({
    stillValid: () => checks(),
    onFailure: (error) => failures.push(error),
  });
  const downloads = new Downloads(watch);
  const begin = async (organizationId: string, reader = 'ada', reply = openReply()) => {
    const bytes = await downloads.begin({ organizationId, reader, reply }, file);
    if (bytes === undefined) throw new Error('it has no body');
    bytes.on('error', () => undefined);
    return bytes;
  };
  return { valid, failures, begin, breakChecks: (how: typeof checks) => (checks = how) };
}

it('a client that has stopped reading loses its download when it may not read any more', async () => {
  const { begin, valid } = world();
  const [ada, bob] = [await begin('a', 'ada'), await begin('a', 'bob')];
  await jest.advanceTimersByTimeAsync(answerCheckMs);
  expect([ada.destroyed, bob.destroyed]).toEqual([false, false]);
  valid.delete('ada');
  const ended = closed(ada);
  await jest.advanceTimersByTimeAsync(answerCheckMs);
  await ended;
  expect([ada.errored?.name, bob.destroyed]).toEqual(['ReaderRefused', false]);
});

it('checks are of no request, whose time limit would end them for all', async () => {
  const { begin, breakChecks, valid } = world();
  const requests = new AsyncLocalStorage<string>();
  const checkedIn: (string | undefined)[] = [];
  await begin('a');
  breakChecks(() => {
    checkedIn.push(requests.getStore());
    return Promise.resolve(valid);
  });
  await requests.run('of a download', () => jest.advanceTimersByTimeAsync(answerCheckMs));
  expect(checkedIn).toEqual([undefined]);
});

it('downloads end when it is not known who may still read', async () => {
  const { begin, breakChecks, failures } = world();
  const bytes = await begin('a');
  const away = new Error('away');
  breakChecks(() => Promise.reject(away));
  const ended = closed(bytes);
  await jest.advanceTimersByTimeAsync(answerCheckMs);
  await ended;
  expect(failures).toEqual([away]);
});

it('an organization has four downloads at a time, a process sixteen of more than one, and each that ends makes room', async () => {
  const { begin } = world();
  const [first] = await Promise.all([begin('a'), begin('a'), begin('a'), begin('a')]);
  await expect(begin('a')).rejects.toBeInstanceOf(RateLimited);
  first.destroy();
  await closed(first);
  await begin('a');
  for (const organization of ['b', 'c', 'd'])
    for (let count = 0; count < 4; count += 1) await begin(organization);
  await begin('e');
  await expect(begin('e')).rejects.toBeInstanceOf(RateLimited);
  // Neither an answer without a body nor a failure takes the place of another.
  const other = new Downloads<string>({ add: () => undefined });
  const asked = { organizationId: 'a', reader: 'ada', reply: openReply() };
  for (let count = 0; count < 5; count += 1) {
    expect(await other.begin(asked, () => undefined)).toBeUndefined();
    const failed = other.begin(asked, () => Promise.reject(new Error('no file')));
    await expect(failed).rejects.toThrow('no file');
  }
});

it('slow readers of four organizations do not cut off the first download of another one', async () => {
  const { begin } = world();
  for (const organizationId of ['a', 'b', 'c', 'd'])
    for (let number = 0; number < 4; number += 1) await begin(organizationId);
  const first = await begin('e');
  first.destroy();
  await closed(first);
  await begin('e');
});

it('the first downloads of organizations have a bound, too', async () => {
  const { begin } = world();
  for (let organization = 0; organization < 128; organization += 1) await begin(`o${organization}`);
  await expect(begin('another')).rejects.toBeInstanceOf(RateLimited);
});

it.each([
  ['after the answer of the time limit', { sent: true, closed: false }],
  ['after the end of the connection', { sent: false, closed: true }],
])(
  'a file that is opened %s is closed, and keeps no place',
  async (_when, { sent, closed: isClosed }) => {
    const { begin } = world();
    for (let number = 0; number < 5; number += 1) {
      const reply = openReply();
      reply.sent = sent;
      reply.raw.closed = isClosed;
      const bytes = await begin('a', 'ada', reply);
      if (!bytes.closed) await closed(bytes);
      expect(bytes.destroyed).toBe(true);
    }
  },
);

it('a file whose connection ends before it is read is closed', async () => {
  const { begin } = world();
  const reply = openReply();
  const bytes = await begin('a', 'ada', reply);
  expect(bytes.destroyed).toBe(false);
  const ended = closed(bytes);
  reply.raw.emit('close');
  await ended;
});
