/** Users as administrators change them, and sessions as their users see them. */
import { randomUUID } from 'node:crypto';
import type { EventStore } from '@pis/event-store';
import { closeAfterEach } from '@pis/local-servers/testing';
import { createLogger } from '@pis/service-kit';
import { type Board, by, cookieOf, password, startBoard } from './testing/board.js';

const atEnd = closeAfterEach();

let board: Board;
beforeAll(async () => {
  board = await startBoard();
});
afterAll(() => board?.close());

const post = (path: string, cookie: string, body?: unknown) =>
  board.call(path, { method: 'POST', cookie, ...(body === undefined ? {} : { body }) });

interface Listed {
  readonly userId: string;
  readonly role: string;
  readonly disabled: boolean;
}
async function listed(cookie: string): Promise<readonly Listed[]> {
  return (await board.call('/users', { cookie })).body.data as readonly Listed[];
}

describe('users', () => {
  it('are created with a password that is shown once, changed, disabled, enabled and reset', async () => {
    const admin = await board.newUser('admin');
    const cookie = await board.signedIn(admin);
    const email = `new-${admin.userId}@board.example`;
    const created = await post('/users', cookie, { email, role: 'viewer' });
    const given = created.body.data as { userId: string; password: string };
    const signIn = (secret: string) =>
      board.call('/sign-in', { method: 'POST', body: { email, password: secret } });
    const session = cookieOf(await signIn(given.password)) ?? '';
    expect((await board.call('/users', { cookie })).text).not.toContain(given.password);

    const path = `/users/${given.userId}`;
    expect((await post(`${path}/role`, cookie, { role: 'operator' })).status).toBe(200);
    expect((await post(`${path}/disable`, cookie)).status).toBe(200);
    expect(await listed(cookie)).toEqual([
      expect.objectContaining({ userId: admin.userId }),
      expect.objectContaining({ userId: given.userId, role: 'operator', disabled: true }),
    ]);
    expect((await board.call('/me', { cookie: session })).status).toBe(401);
    expect((await post(`${path}/enable`, cookie)).status).toBe(200);
    const reset = (await post(`${path}/reset`, cookie)).body.data as { password: string };
    expect((await signIn(given.password)).status).toBe(401);
    expect((await signIn(reset.password)).status).toBe(200);
  });

  it('do not disable, demote or reset themselves', async () => {
    const admin = await board.newUser('admin');
    await board.newUser('admin', admin.organizationId);
    const cookie = await board.signedIn(admin);
    for (const [what, body] of [['disable'], ['reset'], ['role', { role: 'viewer' }]] as const)
      expect((await post(`/users/${admin.userId}/${what}`, cookie, body)).status).toBe(409);
    expect((await listed(cookie))[0]).toMatchObject({ role: 'admin', disabled: false });
  });

  it('always leave an administrator, also when two disable each other', async () => {
    const first = await board.newUser('admin');
    const second = await board.newUser('admin', first.organizationId);
    const cookies = [await board.signedIn(first), await board.signedIn(second)] as const;
    const replies = await Promise.all([
      post(`/users/${second.userId}/disable`, cookies[0]),
      post(`/users/${first.userId}/disable`, cookies[1]),
    ]);
    // The one who comes second is refused, or was disabled before the request was admitted.
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    const users = await board.users.list(first.organizationId);
    expect(users.filter(({ disabled }) => !disabled)).toHaveLength(1);
  });
});

describe('a user that cannot be read', () => {
  it('is listed by the ID beside the others, and the reason is logged', async () => {
    const warned: unknown[] = [];
    const logger = createLogger('test', 'silent');
    Object.defineProperty(logger, 'warn', { value: (what: unknown) => warned.push(what) });
    const logged = await startBoard({ logger });
    atEnd(() => logged.close());
    const admin = await logged.newUser('admin');
    const damaged = await logged.newUser('operator', admin.organizationId);
    await appendForeign(logged.store, damaged.userId);
    const { status, body } = await logged.call('/users', { cookie: await logged.signedIn(admin) });
    expect(status).toBe(200);
    expect(body.data).toEqual([
      expect.objectContaining({ userId: admin.userId, email: admin.email }),
      { userId: damaged.userId, unreadable: true },
    ]);
    const err = expect.objectContaining({ name: 'UnreadableEvent' }) as unknown;
    expect(warned).toContainEqual({ err, userId: damaged.userId });
  });
});

/** Of another system. */
async function appendForeign(store: EventStore, userId: string): Promise<void> {
  const streamId = `user-${userId}`;
  const [last] = await store.readStream(streamId, { direction: 'backwards', maxCount: 1 });
  const at = new Date().toISOString();
  const metadata = { ...by, schemaVersion: 1, at, previousHash: null };
  const event = { id: randomUUID(), type: 'InvoicePaid', data: {}, metadata };
  await store.append(streamId, last?.revision ?? 'noStream', [event]);
}

interface Session {
  readonly sessionId: string;
  readonly isCurrent: boolean;
  readonly client: unknown;
}

describe("a user's own sessions", () => {
  const begin = async (email: string, address: string, agent: string) =>
    cookieOf(
      await board.call('/sign-in', {
        ...{ method: 'POST', address, body: { email, password } },
        headers: { 'user-agent': agent },
      }),
    ) ?? '';
  const sessions = async (cookie: string) =>
    (await board.call('/me/sessions', { cookie })).body.data as readonly Session[];

  it('are listed with address and browser, and ended', async () => {
    const user = await board.newUser('viewer');
    const laptop = await begin(user.email, '203.0.113.5', 'Laptop/1.0');
    const phone = await begin(user.email, '203.0.113.6', `Phone/${'1'.repeat(400)}`);
    const shown = await sessions(laptop);
    expect(shown).toEqual([
      expect.objectContaining({
        isCurrent: false,
        client: { address: '203.0.113.6', userAgent: `Phone/${'1'.repeat(294)}` },
      }),
      expect.objectContaining({
        isCurrent: true,
        client: { address: '203.0.113.5', userAgent: 'Laptop/1.0' },
      }),
    ]);
    const { rows } = await board.pool.query('SELECT * FROM user_sessions');
    for (const personal of ['203.0.113.5', 'Laptop'])
      expect(JSON.stringify(rows)).not.toContain(personal);

    expect((await post(`/me/sessions/${shown[0]?.sessionId}/end`, laptop)).status).toBe(200);
    expect((await board.call('/me', { cookie: phone })).status).toBe(401);
    expect((await post(`/me/sessions/${shown[0]?.sessionId}/end`, laptop)).status).toBe(404);
    expect(await sessions(laptop)).toHaveLength(1);
  });

  it("are ended, except the user's own", async () => {
    const user = await board.newUser('viewer');
    const [mine, other] = [await board.signedIn(user), await board.signedIn(user)];
    expect((await post('/me/sessions/end-others', mine)).status).toBe(200);
    expect((await board.call('/me', { cookie: mine })).status).toBe(200);
    expect((await board.call('/me', { cookie: other })).status).toBe(401);
  });

  it('are unknown to everybody else', async () => {
    const admin = await board.newUser('admin');
    const user = await board.newUser('viewer', admin.organizationId);
    const cookie = await board.signedIn(user);
    const [session] = await sessions(cookie);
    const path = `/me/sessions/${session?.sessionId}/end`;
    expect((await post(path, await board.signedIn(admin))).status).toBe(404);
    expect((await board.call('/me', { cookie })).status).toBe(200);
  });
});
