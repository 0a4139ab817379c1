import { randomUUID } from 'node:crypto';
import { createLogger } from '@pis/service-kit';
import { type UserRole, userRoles } from '@pis/domain';
import { mayCall, operations } from './operations.js';
import type { Declared } from './operation.js';
import { ChangeLimit, changesPerHourMax } from './change-limit.js';
import {
  RecordedActions,
  recordedActionsPerHourMax,
  signInsPerHourMax,
} from './recorded-actions.js';
import { failuresPerNetworkMax } from './sign-in-limit.js';
import { type Board, type BoardCall, origin, password, startBoard } from './testing/board.js';

let board: Board;
const cookies = new Map<UserRole, string>();
beforeAll(async () => {
  board = await startBoard();
  for (const role of userRoles) cookies.set(role, await board.signedIn(await board.newUser(role)));
});
afterAll(() => board?.close());

const id = '00000000-0000-4000-8000-000000000000';
const all = Object.entries<Declared>(operations).map(([name, operation]) => ({
  name,
  operation,
  path: operation.path.replaceAll(/:\w+/g, id),
}));

describe.each(all)('$name', ({ operation, path }) => {
  const { method } = operation;

  it('is open to nobody without a session, unless the table says so', async () => {
    if (operation.role === 'anyone') return;
    for (const cookie of [null, `pis_session=${'x'.repeat(43)}`, 'pis_session='])
      expect((await board.call(path, { method, cookie })).status).toBe(401);
  });

  it('is refused to the roles below the one in the table', async () => {
    for (const role of userRoles.filter((one) => !mayCall(one, operation))) {
      const cookie = cookies.get(role) ?? null;
      const reply = await board.call(path, { method, cookie });
      expect([role, reply.status, reply.body.error?.code]).toEqual([role, 403, 'FORBIDDEN']);
    }
  });

  it('is refused when the request comes from another site', async () => {
    const cookie = cookies.get('admin') ?? null;
    const attacks: BoardCall['headers'][] = [{ 'sec-fetch-site': 'cross-site' }];
    if (method !== 'GET')
      attacks.push(
        { 'sec-fetch-site': 'same-site' },
        { origin: 'http://evil.example' },
        { origin: 'null' },
        { origin: null },
        { 'x-pis-dashboard': null },
        { origin: `${origin}.evil.example` },
      );
    for (const headers of attacks) {
      const reply = await board.call(path, { method, cookie, ...(headers && { headers }) });
      expect([headers, reply.status]).toEqual([headers, 403]);
    }
  });
});

it('a role that is not known may do nothing', () => {
  for (const { operation } of all)
    expect(mayCall('root' as 'admin', operation)).toBe(operation.role === 'anyone');
});

it('every answer refuses to be framed, stored and guessed at', async () => {
  const cookie = await board.signedIn(await board.newUser('viewer'));
  for (const path of ['/me', '/nothing'])
    expect((await board.call(path, { cookie })).headers).toMatchObject({
      'x-frame-options': 'DENY',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
});

it('what a form of another site can send is no body', async () => {
  const { email } = await board.newUser('viewer');
  const body = JSON.stringify({ email, password });
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const headers = { 'content-type': type };
    expect((await board.call('/sign-in', { method: 'POST', body, headers })).status).toBe(415);
  }
});

it('no stream begins for a request that wants its headers alone', async () => {
  const cookie = cookies.get('viewer') ?? null;
  const streams = all.filter(({ operation }) => operation.isStream === true);
  for (const { path } of streams) {
    const { status } = await board.call(path, { method: 'HEAD', cookie });
    // The second is an ID of another operation that is none.
    expect([404, 400]).toContain(status);
  }
});

it('what an open page reads by itself does not keep its session', async () => {
  const cookie = await board.signedIn(await board.newUser('viewer'));
  const digest = `sha256(convert_to(split_part($1, '=', 2), 'UTF8'))`;
  const isKept = async (path: string, headers: Readonly<Record<string, string>>) => {
    await board.pool.query(
      `UPDATE user_sessions SET last_seen_at = now() - interval '20 minutes' WHERE digest = ${digest}`,
      [cookie],
    );
    const { rowCount } = await board.pool.query(
      `SELECT FROM user_sessions WHERE digest = ${digest}`,
      [cookie],
    );
    expect(rowCount).toBe(1);
    expect((await board.call(path, { cookie, headers })).status).toBe(200);
    const kept = await board.pool.query(
      `SELECT FROM user_sessions WHERE digest = ${digest} AND last_seen_at > now() - interval '10 minutes'`,
      [cookie],
    );
    return kept.rowCount === 1;
  };
  for (const path of ['/payments', '/session']) {
    expect(await isKept(path, { 'x-pis-unattended': '1' })).toBe(false);
    expect(await isKept(path, {})).toBe(true);
  }
});

it('unknown paths below the API are not found', async () => {
  for (const path of ['/dashboard/api', '/dashboard/api/nothing'])
    expect((await board.call(path)).status).toBe(404);
});

describe('behind HTTPS', () => {
  it('the cookie is sent over HTTPS alone and cannot be set by another host', async () => {
    const https = await startBoard({ changes: { PIS_PUBLIC_URL: 'https://pay.example' } });
    try {
      const { email } = await https.newUser('viewer');
      const headers = { origin: 'https://pay.example', host: 'internal:3000' };
      const reply = await https.call('/sign-in', {
        method: 'POST',
        body: { email, password },
        headers,
      });
      expect(reply.headers['set-cookie']).toMatch(
        /^__Host-pis_session=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
      );
      expect(reply.headers['strict-transport-security']).toBeDefined();
      const token = String(reply.headers['set-cookie']).split(/[=;]/)[1] ?? '';
      const plain = await https.call('/me', { cookie: `pis_session=${token}` });
      expect(plain.status).toBe(401);
      const secured = await https.call('/me', { cookie: `__Host-pis_session=${token}` });
      expect(secured.status).toBe(200);
    } finally {
      await https.close();
    }
  });
});

describe('with limits', () => {
  let limited: Board;
  beforeAll(async () => {
    limited = await startBoard({ changes: { PIS_RATE_LIMIT_PER_KEY: 5 } });
  });
  afterAll(() => limited?.close());
  // Each address has a rate of its own, so no test can use up that of another.
  let tests = 0;
  beforeEach(() => {
    tests += 1;
    limited.address = `203.0.113.${String(tests)}`;
  });

  it('one address can fail so many times, and everybody else can still sign in', async () => {
    const { email } = await limited.newUser('viewer');
    const attempt = (address: string, given: { email: string; password: string }) =>
      limited.call('/sign-in', { method: 'POST', body: given, address });
    const stranger = { email: 'nobody@board.example', password };
    for (let failures = 1; failures <= failuresPerNetworkMax; failures += 1)
      expect((await attempt('198.51.100.1', stranger)).status).toBe(401);
    const refused = await attempt('198.51.100.1', { email, password });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(600);
    expect((await attempt('198.51.100.2', { email, password })).status).toBe(200);
  }, 60_000);

  it('whoever signs out again and again is stopped', async () => {
    const signOut = (address: string) =>
      limited.call('/sign-out', { method: 'POST', cookie: null, address });
    const statuses = await Promise.all(
      Array.from({ length: 300 }, async () => (await signOut('198.51.100.10')).status),
    );
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect((await signOut('198.51.100.11')).status).toBe(200);
  });

  it('changes of users and new API keys are limited, and disabling is not', async () => {
    const admin = await limited.newUser('admin');
    const { userId } = await limited.newUser('viewer', admin.organizationId);
    const changes = limited.app.get(ChangeLimit);
    const cookie = await limited.signedIn(admin);
    for (let change = 1; change <= changesPerHourMax; change += 1)
      changes.take(admin.organizationId);
    const post = (path: string, body?: unknown) =>
      limited.call(`/users/${userId}/${path}`, { method: 'POST', cookie, body });
    expect((await post('role', { role: 'admin' })).status).toBe(429);
    expect((await post('enable')).status).toBe(429);
    expect((await post('reset')).status).toBe(429);
    const key = { method: 'POST', cookie, body: { type: 'read_only' } } as const;
    expect((await limited.call('/api-keys', key)).status).toBe(429);
    expect((await post('disable')).status).toBe(200);
  });

  it('recorded actions of a user are limited, and the user can still sign in and out', async () => {
    const [viewer, other] = [await limited.newUser('viewer'), await limited.newUser('viewer')];
    const cookie = await limited.signedIn(viewer);
    const actions = limited.app.get(RecordedActions);
    for (let action = 1; action < recordedActionsPerHourMax; action += 1)
      actions.takeAction(viewer.userId);
    const exported = (as: string) => limited.call('/payments/export', { cookie: as });
    expect((await exported(cookie)).status).toBe(200);
    const before = await limited.store.lastPosition();
    const refused = await exported(cookie);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(600);
    expect((await limited.store.readLog({ after: before })).events).toEqual([]);
    expect((await exported(await limited.signedIn(other))).status).toBe(200);
    const again = await limited.signedIn(viewer);
    const signOut = { method: 'POST', cookie: again } as const;
    expect((await limited.call('/sign-out', signOut)).status).toBe(200);
  }, 60_000);

  it('showings of links count with the recorded actions of a user: each leaves a row for good', async () => {
    const operator = await limited.newUser('operator');
    const { organizationId, userId } = operator;
    const cookie = await limited.signedIn(operator);
    const body = {
      ...{ idempotencyKey: randomUUID(), paymentAmount: 100, direction: 'INBOUND' },
      originatorId: await limited.newOriginator(organizationId),
      recipient: { entityType: 'BUSINESS', companyName: 'Payer LLC' },
    };
    const created = await limited.call('/payments', { method: 'POST', cookie, body });
    const { paymentId } = created.body.data as { paymentId: string };
    const show = () => limited.call(`/payments/${paymentId}/link`, { method: 'POST', cookie });
    const actions = limited.app.get(RecordedActions);
    for (let action = 1; action < recordedActionsPerHourMax; action += 1)
      actions.takeAction(userId);
    expect((await show()).status).toBe(200);
    expect((await show()).status).toBe(429);
    const { rowCount } = await limited.pool.query(
      "SELECT FROM payment_link_accesses WHERE payment_id = $1 AND kind = 'show'",
      [paymentId],
    );
    expect(rowCount).toBe(1);
  }, 60_000);

  it('sign-ins of a user are limited without an event, and those of others are not', async () => {
    const [viewer, other] = [await limited.newUser('viewer'), await limited.newUser('viewer')];
    const actions = limited.app.get(RecordedActions);
    for (let signIn = 1; signIn <= signInsPerHourMax; signIn += 1)
      actions.takeSignIn(viewer.userId);
    const before = await limited.store.lastPosition();
    const signIn = (email: string, given = password) =>
      limited.call('/sign-in', { method: 'POST', body: { email, password: given } });
    // More than would lock the account.
    for (let tries = 1; tries <= 6; tries += 1)
      expect((await signIn(viewer.email)).status).toBe(429);
    expect((await limited.store.readLog({ after: before })).events).toEqual([]);
    // Nobody without the password learns of the limit.
    expect((await signIn(viewer.email, 'not the password')).status).toBe(401);
    expect((await signIn(other.email)).status).toBe(200);
  }, 60_000);

  it('an administrator cannot ask for many addresses whether they have a user elsewhere', async () => {
    const admin = await limited.newUser('admin');
    const stranger = await limited.newUser('viewer');
    const cookie = await limited.signedIn(admin);
    const changes = limited.app.get(ChangeLimit);
    const ask = async (email: string) =>
      (await limited.call('/users', { method: 'POST', cookie, body: { email, role: 'viewer' } }))
        .status;
    for (let change = 1; change < changesPerHourMax; change += 1)
      changes.take(admin.organizationId);
    expect(await ask(stranger.email)).toBe(409);
    expect(await ask(stranger.email)).toBe(429);
    expect(await ask('nobody-else@board.example')).toBe(429);
  });

  it('whoever tries cookies is stopped without a look at the table', async () => {
    const cookie = await limited.signedIn(await limited.newUser('viewer'));
    const address = '198.51.100.9';
    const statuses = new Set<number>();
    for (let tries = 1; tries <= 300; tries += 1) {
      const tried = `pis_session=${String(tries).padStart(43, 'x')}`;
      statuses.add((await limited.call('/me', { cookie: tried, address })).status);
    }
    expect(statuses).toEqual(new Set([401, 429]));
    expect((await limited.call('/me', { cookie })).status).toBe(200);
  }, 60_000);
});

it('logs hold no password, cookie or e-mail address', async () => {
  const lines: string[] = [];
  const logger = createLogger('test', 'trace');
  const record = (...given: unknown[]) => lines.push(JSON.stringify(given));
  for (const level of ['info', 'warn', 'error', 'debug', 'trace'] as const)
    Object.defineProperty(logger, level, { value: record });
  const logged = await startBoard({ logger });
  try {
    const user = await logged.newUser('viewer');
    const cookie = await logged.signedIn(user);
    await logged.call('/me', { cookie });
    const body = { email: user.email, password: 'incorrect horse battery' };
    await logged.call('/sign-in', { method: 'POST', body });
    expect(lines.join('\n')).toContain('/dashboard/api/sign-in');
    for (const secret of [password, body.password, user.email, cookie.split('=')[1] ?? ''])
      expect(lines.join('\n')).not.toContain(secret);
  } finally {
    await logged.close();
  }
});
