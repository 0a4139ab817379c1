/** What every retry table must do: `deferredMessagesContract(name, create)`. */
import { randomUUID } from 'node:crypto';
import type { DeferredMessages } from '../deferred-messages.js';
import { NonRetryable } from '../errors.js';
import type { Delivery } from '../message.js';

const leaseMs = 60_000;
const due = { error: 'away', failures: 2, dueInMs: 0 };
const notDue = { ...due, dueInMs: 3_600_000 };

export function deferredMessagesContract(name: string, create: () => DeferredMessages): void {
  describe(`${name}, as every retry table`, () => {
    const message = (key: string, offset: string, attempt = 3): Delivery => ({
      topic: 't',
      key,
      value: '{"a":"\\u0000"}',
      headers: { odd: '\u0001"\\ä' },
      offset,
      attempt,
    });
    const scene = () => ({ table: create(), group: `group-${randomUUID()}` });
    const workOff = async (table: DeferredMessages, group: string) => {
      const offsets: string[] = [];
      for (let [next = null] = await table.claim(group, 1, leaseMs); next !== null; ) {
        offsets.push(next.delivery.offset);
        next = await table.settle(group, next);
      }
      return offsets;
    };

    it('returns a message unchanged, with its attempts and failures', async () => {
      const { table, group } = scene();
      await table.defer(group, message('a', '1'), due);
      const [claimed, ...rest] = await table.claim(group, 10, leaseMs);
      expect(claimed).toMatchObject({ delivery: message('a', '1'), failures: 2 });
      expect(rest).toEqual([]);
      expect(await table.isEmpty('somebody else')).toBe(true);
      expect(await table.isEmpty(group)).toBe(false);
    });

    it('returns the messages of a key one after the other, in order', async () => {
      const { table, group } = scene();
      await table.defer(group, message('a', '1'), due);
      for (const offset of ['2', '9', '10'])
        expect(await table.follow(group, message('a', offset, 0))).toBe(true);
      expect(await table.claim('somebody else', 10, leaseMs)).toEqual([]);
      expect(await workOff(table, group)).toEqual(['1', '2', '9', '10']);
      expect(await table.isEmpty(group)).toBe(true);
    });

    it('stores a repeated message once', async () => {
      const { table, group } = scene();
      await table.defer(group, message('a', '1'), due);
      await table.follow(group, message('a', '2', 0));
      await table.defer(group, message('a', '1'), due);
      expect(await table.follow(group, message('a', '2', 0))).toBe(true);
      expect(await workOff(table, group)).toEqual(['1', '2']);
    });

    it('stores no follower of a key that is not in the table', async () => {
      const { table, group } = scene();
      expect(await table.follow(group, message('a', '1', 0))).toBe(false);
      await table.defer(group, message('a', '1'), due);
      await table.defer(group, message('b', '2'), due);
      expect([...(await table.holding(group, ['a', 'c', 'nul\0']))]).toEqual(['a']);
      await workOff(table, group);
      await workOff(table, group);
      expect(await table.follow(group, message('a', '3', 0))).toBe(false);
      expect((await table.holding(group, ['a'])).size).toBe(0);
    });

    it('claims a key for one process at a time, and only when it is due', async () => {
      const { table, group } = scene();
      await table.defer(group, message('a', '1'), due);
      await table.defer(group, message('b', '2'), due);
      await table.defer(group, message('c', '3'), notDue);
      expect(await table.claim(group, 1, leaseMs)).toHaveLength(1);
      expect(await table.claim(group, 10, leaseMs)).toHaveLength(1);
      expect(await table.claim(group, 10, leaseMs)).toEqual([]);
    });

    it('notes a failed attempt and waits before the next one', async () => {
      const { table, group } = scene();
      await table.defer(group, message('a', '1'), due);
      const [claimed] = await table.claim(group, 1, leaseMs);
      if (claimed === undefined) throw new Error('nothing was due');
      const failed = { ...claimed, delivery: { ...claimed.delivery, attempt: 4 } };
      await table.postpone(group, failed, { ...notDue, failures: 3 });
      expect(await table.claim(group, 1, leaseMs)).toEqual([]);
      await table.renew(group, [claimed], 0);
      const [again] = await table.claim(group, 1, leaseMs);
      expect(again).toMatchObject({ delivery: { attempt: 4 }, failures: 3 });
    });

    it('ignores changes of a process that lost its lease', async () => {
      const { table, group } = scene();
      await table.defer(group, message('a', '1'), due);
      await table.follow(group, message('a', '2', 0));
      const [slow] = await table.claim(group, 1, 0);
      const [quick] = await table.claim(group, 1, leaseMs);
      if (slow === undefined || quick === undefined) throw new Error('nothing was due');
      expect(await table.settle(group, slow)).toBeNull();
      await table.postpone(group, slow, { ...notDue, failures: 7 });
      await table.renew(group, [slow], 0);
      expect(await table.claim(group, 1, leaseMs)).toEqual([]);
      const next = await table.settle(group, quick);
      expect(next).toMatchObject({ delivery: { offset: '2' }, failures: 0 });
    });

    it('does not accept an old lease for a key that left and came back', async () => {
      const { table, group } = scene();
      await table.defer(group, message('a', '1'), due);
      const [old] = await table.claim(group, 1, leaseMs);
      if (old === undefined) throw new Error('nothing was due');
      await table.settle(group, old);
      await table.defer(group, message('a', '2'), due);
      const [current] = await table.claim(group, 1, leaseMs);
      expect(await table.settle(group, old)).toBeNull();
      await table.renew(group, [old], 0);
      expect(await table.claim(group, 1, leaseMs)).toEqual([]);
      expect(current).toMatchObject({ delivery: { offset: '2' } });
    });

    it('refuses a message that it can never store', async () => {
      const { table, group } = scene();
      await table.defer(group, message('a', '1'), due);
      const odd = { ...message('a', '2', 0), value: '"\0"' };
      await expect(table.follow(group, odd)).rejects.toThrow(NonRetryable);
      expect((await table.backlog(group)).messages).toBe(1);
    });

    it('counts waiting messages and reports the age of the oldest', async () => {
      const { table, group } = scene();
      expect(await table.backlog(group)).toEqual({ messages: 0, oldestAgeMs: 0 });
      await table.defer(group, message('a', '1'), due);
      await table.follow(group, message('a', '2', 0));
      const { messages, oldestAgeMs } = await table.backlog(group);
      expect(messages).toBe(2);
      expect(oldestAgeMs).toBeGreaterThanOrEqual(0);
    });
  });
}
