import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import {
  type ReplayRecord,
  replayRequests,
  ReplayTable,
  runningReplaysMax,
} from '@pis/webhook-deliveries';
import type pg from 'pg';

const leaseMs = 30_000;

describe('Replays of several organizations', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let table: ReplayTable;
  let time: number;
  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 5);
    table = new ReplayTable(pool, randomUUID());
    time = Date.parse('2026-11-21T10:00:00.000Z');
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  const requested = async (organizationId: string, endpointId: string = randomUUID()) => {
    time += 1;
    const replay = await replayRequests(pool).create({
      ...{ id: randomUUID(), organizationId, endpointId, eventTypes: null },
      ...{ fromAt: new Date(0), toAt: new Date(time), requestedAt: new Date(time) },
      throughPosition: '',
    });
    if (replay === null) throw new Error('too many replays');
    return replay;
  };
  const lease = () => {
    time += 1;
    return table.lease(new Date(time), new Date(time + leaseMs));
  };
  const page = (isLast: boolean) => ({
    deliveries: [],
    nextPosition: '',
    isLast,
    notBefore: new Date(time),
  });
  /** One turn, and the replay that had it. */
  const turn = async (isShort: (replay: ReplayRecord) => boolean = () => false) => {
    const replay = await lease();
    if (replay !== null) await table.advance(replay, page(isShort(replay)), new Date(time));
    return replay;
  };
  const turns = async (count: number) => {
    const taken: (ReplayRecord | null)[] = [];
    for (let n = 0; n < count; n += 1) taken.push(await turn());
    return taken;
  };

  it('take turns by organization, however many replays one of them has', async () => {
    const [many, one, other] = [randomUUID(), randomUUID(), randomUUID()];
    for (let endpoints = 0; endpoints < 4; endpoints += 1) {
      const endpointId = randomUUID();
      for (let n = 0; n < runningReplaysMax; n += 1) await requested(many, endpointId);
    }
    await requested(one);
    await requested(other);
    const taken = (await turns(60)).map((replay) => replay?.organizationId);
    for (const organizationId of [many, one, other])
      expect(taken.filter((of) => of === organizationId)).toHaveLength(20);
    // No organization waits for longer than one turn of each other.
    for (let from = 0; from < 60; from += 3)
      expect(new Set(taken.slice(from, from + 3))).toEqual(new Set([many, one, other]));
  });

  it('take turns within an organization, too', async () => {
    const organizationId = randomUUID();
    const ids = new Set<string>();
    for (let n = 0; n < 7; n += 1) ids.add((await requested(organizationId)).id);
    for (let round = 0; round < 3; round += 1)
      expect(new Set((await turns(7)).map((replay) => replay?.id))).toEqual(ids);
  });

  it('do not wait longer when another organization keeps requesting short ones', async () => {
    const [busy, patient] = [randomUUID(), randomUUID()];
    await requested(patient);
    const taken: (string | undefined)[] = [];
    for (let n = 0; n < 20; n += 1) {
      await requested(busy);
      const replay = await turn(({ organizationId }) => organizationId === busy);
      taken.push(replay?.organizationId);
    }
    expect(taken.filter((of) => of === patient)).toHaveLength(10);
  });

  it('are skipped while they are postponed, leased elsewhere or locked', async () => {
    const ids = [(await requested(randomUUID())).id, (await requested(randomUUID())).id];
    const held = await lease();
    if (held === null) throw new Error('there is a replay');
    expect([held.id, (await lease())?.id].toSorted()).toEqual(ids.toSorted());
    expect(await lease()).toBeNull();
    await table.postpone(held, new Date(time + 1_000));
    expect(await lease()).toBeNull();
    time += 1_000;
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query('SELECT FROM webhook_replays WHERE id = $1 FOR UPDATE', [held.id]);
    expect(await lease()).toBeNull();
    await other.query('ROLLBACK');
    other.release();
    expect((await lease())?.id).toBe(held.id);
  });
});
