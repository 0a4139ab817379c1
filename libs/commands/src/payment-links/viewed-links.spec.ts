/** Views of a link that was viewed before: fewer reads, and nothing that is out of date. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { memoryEventStore, sealedStore } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { testKeyring } from '@pis/keyring/testing';
import { closeAfterEach } from '@pis/local-servers/testing';
import { by, client, linkWorld, memoryTables, submission, visitor } from '../testing/link-world.js';
import { unrefused } from '../use-case.js';
import { PaymentLinks } from './payment-links.js';

const atEnd = closeAfterEach();

/** The pages beside the dashboard: two processes with one store. */
async function twoProcesses() {
  const keyring = testKeyring();
  const tables = memoryTables();
  const counts = { lookups: 0, openings: 0, records: 0, repeats: 0, reads: 0 };
  const counted = {
    ...keyring,
    openAll: (texts: Parameters<typeof keyring.openAll>[0]) => {
      counts.openings += 1;
      return keyring.openAll(texts);
    },
  };
  const events = memoryEventStore();
  const world = await linkWorld({
    ...{ keyring, store: sealedStore(events, keyring) },
    ...{ table: tables.table, accesses: tables.log },
  });
  const ofPages = {
    ...events,
    readStream: (...args: Parameters<typeof events.readStream>) => {
      counts.reads += 1;
      return events.readStream(...args);
    },
    readStreams: (...args: Parameters<typeof events.readStreams>) => {
      counts.reads += 1;
      return events.readStreams(...args);
    },
  };
  const pages = new PaymentLinks({
    ...world.options,
    ...{ keyring: counted, store: sealedStore(ofPages, counted) },
    table: {
      ...tables.table,
      find: (digest) => {
        counts.lookups += 1;
        return tables.table.find(digest);
      },
    },
    accesses: {
      ...tables.log,
      record: (access) => {
        counts.records += 1;
        return tables.log.record(access);
      },
      recordRepeats: (repeats) => {
        counts.repeats += 1;
        return tables.log.recordRepeats(repeats);
      },
    },
  });
  atEnd(() => pages.close());
  const view = async (token: string) => {
    const link = await pages.find(token);
    if (link !== null) await pages.recordOpen(link, client);
    return link;
  };
  return { world, pages, events, keyring, tables, counts, view };
}

it('looks a link up and opens its personal data once, however often it is viewed', async () => {
  const { world, view, counts } = await twoProcesses();
  const { token } = await world.linked();
  const first = await view(token);
  expect(counts).toMatchObject({ lookups: 1, openings: 1 });
  for (let views = 0; views < 10; views += 1) expect(await view(token)).toEqual(first);
  expect(counts).toMatchObject({ lookups: 1, openings: 1 });
});

it('reads views together that come closely one after the other', async () => {
  const { world, pages, events } = await twoProcesses();
  const { token } = await world.linked();
  await pages.find(token);
  const turnsOfReads = new Set<number>();
  let turn = 0;
  const readStream = events.readStream.bind(events);
  events.readStream = (...args) => {
    turnsOfReads.add(turn);
    return readStream(...args);
  };
  const views: Promise<unknown>[] = [];
  for (; turn < 20; turn += 1) {
    views.push(pages.find(token));
    await nextTurn();
  }
  expect(await Promise.all(views)).toHaveLength(20);
  // The first at once. On a slow machine the others may be a few groups.
  expect(turnsOfReads.size).toBeLessThan(10);
});

it('knows a viewed link no more as soon as another process has canceled its payment', async () => {
  const { world, view, counts } = await twoProcesses();
  const { token, paymentId } = await world.linked();
  await view(token);
  unrefused(await world.links.cancel(world.organizationId, paymentId, by));
  expect(await view(token)).toBeNull();
  // One read, as of an unknown link.
  expect(counts.lookups).toBe(1);
  expect(await view(token)).toBeNull();
  expect(counts.lookups).toBe(2);
});

it('takes the same steps for a canceled link as for an unknown one, but for its first view by a process that has shown it', async () => {
  const { world, view, counts } = await twoProcesses();
  const stepsOf = async (token: string) => {
    Object.assign(counts, { lookups: 0, openings: 0, records: 0, reads: 0 });
    expect(await view(token)).toBeNull();
    return { ...counts };
  };
  const [seen, unseen] = [await world.linked(), await world.linked()];
  await view(seen.token);
  for (const { paymentId } of [seen, unseen])
    unrefused(await world.links.cancel(world.organizationId, paymentId, by));
  const unknown = await stepsOf('U'.repeat(43));
  expect(unknown).toMatchObject({ lookups: 1, openings: 0, records: 0, reads: 0 });
  expect(await stepsOf(unseen.token)).toEqual(unknown);
  // Only a holder of the real token, who has seen its page, can notice the stream that is read.
  expect(await stepsOf(seen.token)).toEqual({ ...unknown, lookups: 0, reads: 1 });
  expect(await stepsOf(seen.token)).toEqual(unknown);
});

it('shows a viewed link as used as soon as another process has taken its submission', async () => {
  const { world, view } = await twoProcesses();
  const { token, paymentId } = await world.linked();
  expect(await view(token)).toMatchObject({ state: 'open' });
  unrefused(await world.links.submit(token, submission, visitor));
  const bankName = (await world.stateOf(paymentId)).contact?.bankAccount?.bankName;
  expect(await view(token)).toMatchObject({ state: 'submitted', payment: { bankName } });
});

it('reads a viewed link again once a party was erased', async () => {
  const { world, view, keyring } = await twoProcesses();
  const contactId = await world.newContact();
  const { token } = await world.linked({ recipient: { contactId } });
  expect(await view(token)).toMatchObject({ payment: { holder: { name: 'Ada Lovelace' } } });
  await keyring.destroy([ownerOf.contact(contactId)]);
  expect(await view(token)).toMatchObject({ payment: { holder: null } });
});

it('forgets the names of a link within an hour of its last view', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  try {
    const { world, pages, counts } = await twoProcesses();
    const [seen, again] = [await world.linked(), await world.linked()];
    await pages.find(seen.token);
    await pages.find(again.token);
    jest.advanceTimersByTime(40 * 60_000);
    await pages.find(again.token);
    jest.advanceTimersByTime(20 * 60_000);
    expect(counts.lookups).toBe(2);
    await pages.find(again.token);
    expect(counts.lookups).toBe(2);
    await pages.find(seen.token);
    expect(counts.lookups).toBe(3);
    jest.advanceTimersByTime(60 * 60_000);
    await pages.find(again.token);
    expect(counts.lookups).toBe(4);
  } finally {
    jest.useRealTimers();
  }
});

it('records the first open before the page is answered, and counts the repeated ones together', async () => {
  const { world, view, pages, counts, tables } = await twoProcesses();
  const { token, paymentId } = await world.linked();
  await view(token);
  expect(tables.accesses).toMatchObject([{ kind: 'open', count: 1 }]);
  world.clock.at = world.clock.at.replace('00.000Z', '30.000Z');
  for (let views = 0; views < 9; views += 1) await view(token);
  expect(counts).toMatchObject({ records: 1, repeats: 0 });
  expect(await pages.accesses(world.organizationId, paymentId)).toMatchObject([
    { kind: 'open', count: 10, lastAt: world.clock.at },
  ]);
  expect(counts).toMatchObject({ records: 1, repeats: 1 });
});

it('writes counted opens when the process ends, and records later ones at once', async () => {
  const { world, view, pages, tables } = await twoProcesses();
  const { token } = await world.linked();
  await view(token);
  await view(token);
  await pages.close();
  expect(tables.accesses).toMatchObject([{ count: 2 }]);
  await view(token);
  expect(tables.accesses).toMatchObject([{ count: 3 }]);
});
