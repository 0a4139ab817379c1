/** Lists without paging parameters: complete, however long they are, and at nobody else's expense. */
import type { OriginatorListQuery } from '@pis/contracts';
import { testKeyring } from '@pis/keyring/testing';
import type { ListPage, PageRequest } from '@pis/read-models';
import { Cursors } from './cursor.js';
import { DirectoryLists } from './directory-lists.js';
import { OwnWrites } from './own-writes.js';
import type { Given } from './requests.js';

const organizationId = '11111111-1111-4111-8111-111111111111';
const another = '22222222-2222-4222-8222-222222222222';
const count = 1_234;
/** Of one read: more would keep the process from the requests of others for too long. */
const readMax = 1_000;

const reached = { waitFor: () => Promise.resolve(true) };
const unpaged: Given<OriginatorListQuery> = { ok: true, value: {}, given: {} };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function newLists(): DirectoryLists {
  const progress = { payments: reached, events: reached, directory: reached };
  return new DirectoryLists(new Cursors(testKeyring()), new OwnWrites(progress));
}

const all = Array.from({ length: count }, (_, index) => `item ${index}`);

/** The list as a query reads it. */
function pageOfAll({ limit = count, after }: PageRequest): ListPage<string> {
  const from = after === undefined ? 0 : Number(after.id) + 1;
  const last = from + limit - 1;
  const next = last + 1 < count ? { createdAt: '2026-11-21T09:00:00.000Z', id: `${last}` } : null;
  return { items: all.slice(from, from + limit), next };
}

describe('a list without paging parameters', () => {
  it('is complete and in order, and read a bounded number of records at a time', async () => {
    const reads: number[] = [];
    const { data, meta } = await newLists().page(
      'contacts',
      organizationId,
      unpaged,
      async (_, page) => {
        const read = pageOfAll(page);
        reads.push(read.items.length);
        return read;
      },
    );
    expect(data).toEqual(all);
    expect(meta).not.toHaveProperty('pagination');
    expect(Math.max(...reads)).toBeLessThanOrEqual(readMax);
  });

  it('is read once at a time for an organization, and beside it for others', async () => {
    const lists = newLists();
    const held: (() => void)[] = [];
    let isHeld = true;
    const slowly = async (_: OriginatorListQuery, page: PageRequest) => {
      if (isHeld && page.after) await new Promise<void>((resolve) => held.push(resolve));
      return pageOfAll(page);
    };
    const asked = Array.from({ length: 5 }, () =>
      lists.page('contacts', organizationId, unpaged, slowly),
    );
    const quickly = async (_: OriginatorListQuery, page: PageRequest) => pageOfAll(page);
    const { data } = await lists.page('contacts', another, unpaged, quickly);
    expect(data).toEqual(all);
    await turn();
    expect(held).toHaveLength(1);
    isHeld = false;
    for (const release of held) release();
    for (const one of await Promise.all(asked)) expect(one.data).toEqual(all);
  });

  it('does not wait for longer ones when it is short, however many are requested', async () => {
    const lists = newLists();
    const released = Promise.withResolvers<void>();
    const long = lists.page('contacts', organizationId, unpaged, async (_, page) => {
      await released.promise;
      return pageOfAll(page);
    });
    const short = async () => ({ items: ['item'], next: null });
    const asked = Array.from({ length: 500 }, () =>
      lists.page('originators', organizationId, unpaged, short),
    );
    for (const { data } of await Promise.all(asked)) expect(data).toEqual(['item']);
    released.resolve();
    expect((await long).data).toEqual(all);
  });
});
