/** What users do that changes no other stream is recorded with its actor before it happens, or does not happen. */
import { AuditLog, noteSigner, wantCheckpoint } from '@pis/audit';
import { type UserActionName, userActionNames, type UserRole, userRoles } from '@pis/domain';
import { openAddresses, type RecordedEvent, StoreUnavailable } from '@pis/event-store';
import { type HttpsReceiver, startHttpsReceiver, until } from '@pis/local-servers/testing';
import { LOG_WATCH } from '@pis/service-kit';
import type { Declared } from './operation.js';
import { type OperationName, operations } from './operations.js';
import { type Board, type BoardReply, cookieOf, password, startBoard } from './testing/board.js';
import {
  type Caller,
  type Given,
  type RoleRow,
  roleRows,
  type Tenant,
} from './testing/role-rows.js';

const limitMs = 60_000;
const userAgent = 'Marked Browser/7';
const address = '198.51.100.77';

let receiver: HttpsReceiver;
let board: Board;
let tenant: Tenant;
let rows: Record<OperationName, RoleRow>;

beforeAll(async () => {
  receiver = await startHttpsReceiver();
  receiver.respondWith(() => ({}));
  board = await startBoard({
    changes: {
      PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
    },
  });
  const organizationId = await board.newOrganization();
  const originatorId = await board.newOriginator(organizationId);
  const callers = new Map<UserRole, Caller>();
  for (const role of userRoles) {
    const user = await board.newUser(role, organizationId);
    callers.set(role, { ...user, role, cookie: await board.signedIn(user) });
  }
  const all = Object.fromEntries(callers) as Tenant['callers'];
  tenant = { organizationId, originatorId, callers: all };
  rows = roleRows(board, receiver.url);
}, limitMs);
afterAll(async () => {
  await board?.close();
  await receiver?.close();
});

/** Those of user actions after a position, as they are read and as they are stored. */
async function actionsSince(after: string): Promise<readonly RecordedEvent[]> {
  const { events } = await board.store.readLog({ after, streamPrefixes: ['userAction-'] });
  return events;
}

/** As directory-projector does. */
async function signLog(): Promise<void> {
  const signer = noteSigner(Buffer.alloc(32, 7));
  const log = new AuditLog({ store: board.store, pool: board.pool, signer });
  while (await log.round());
  await wantCheckpoint(board.pool, true);
  while (await log.round());
}

/** Nothing can be recorded until `again` is called. */
function withoutLog(): { again: () => void } {
  const { store } = board;
  const { append } = store;
  store.append = () => Promise.reject(new StoreUnavailable('away'));
  return { again: () => (store.append = append) };
}

/** Everything that one of the actions could change, but for the times that requests leave. */
async function effects(): Promise<unknown> {
  const contents = [
    ...['webhook_deliveries', 'webhook_replays', 'exports', 'export_downloads'],
  ].map(
    (name) => `(SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM ${name} t) AS ${name}`,
  );
  const sessions = '(SELECT count(*)::integer FROM user_sessions) AS sessions';
  const { rows: found } = await board.pool.query(`SELECT ${[...contents, sessions].join(', ')}`);
  return { ...(found[0] as object), sent: receiver.requests.length };
}

function act(name: UserActionName, { ids = {}, body }: Given, cookie: string | null) {
  const { method, path }: Declared = operations[name];
  return board.call(
    path.replaceAll(/:(\w+)/g, (_all, id: string) => ids[id] ?? ''),
    {
      ...{ method, cookie, address, headers: { 'user-agent': userAgent } },
      ...(body === undefined ? {} : { body }),
    },
  );
}

/** What an action needs, and a new session to do it with: some actions end sessions. */
async function prepared(name: UserActionName): Promise<{ given: Given; cookie: string | null }> {
  const operator = {
    ...tenant.callers.operator,
    cookie: await board.signedIn(tenant.callers.operator),
  };
  const admin = {
    ...tenant.callers.admin,
    cookie: await board.signedIn(tenant.callers.admin),
  };
  Object.assign(tenant.callers, { operator, admin });
  const given = (await rows[name].given?.(tenant, operator)) ?? {};
  return { given, cookie: name === 'signIn' ? null : operator.cookie };
}

it.each(userActionNames)(
  '%s is recorded with its actor, before and after',
  async (name) => {
    const { operator } = tenant.callers;
    const { given, cookie } = await prepared(name);
    const before = await board.store.lastPosition();
    const reply = await act(name, given, cookie);
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
    const events = await actionsSince(before);
    const actor = `user:${operator.userId}`;
    const requestId = reply.headers['x-request-id'];
    expect(events).toMatchObject([
      {
        type: 'UserActionStarted',
        data: {
          ...{ organizationId: tenant.organizationId, userId: operator.userId, action: name },
          client: name === 'signIn' ? { address, userAgent } : null,
        },
        metadata: { actor, requestId, causationId: null },
      },
      {
        type: 'UserActionSucceeded',
        metadata: { actor, requestId, causationId: events[0]?.id },
      },
    ]);
    expect(events[0]?.streamId).toBe(events[1]?.streamId);
    const { ids = {} } = given;
    expect(events[0]?.data['subject']).toMatchObject(ids);
  },
  limitMs,
);

it.each(userActionNames)(
  '%s is refused with 503 and does nothing when it cannot be recorded',
  async (name) => {
    const { given, cookie } = await prepared(name);
    const [before, position] = [await effects(), await board.store.lastPosition()];
    const log = withoutLog();
    let reply: BoardReply;
    try {
      reply = await act(name, given, cookie);
    } finally {
      log.again();
    }
    expect(reply.status).toBe(503);
    expect(await effects()).toEqual(before);
    expect(await actionsSince(position)).toEqual([]);
    // Also the cookie of the session stays.
    expect(reply.headers['set-cookie']).toBeUndefined();
  },
  limitMs,
);

/** Runs `work` when an action has been checked, and is about to be recorded. */
function beforeRecord(work: () => Promise<unknown>): void {
  const { store } = board;
  const { append } = store;
  store.append = async (...args) => {
    store.append = append;
    await work();
    return append.call(store, ...args);
  };
}

it.each(userActionNames)(
  '%s does not begin while the log lacks events that were read from it',
  async (name) => {
    const { given, cookie } = await prepared(name);
    const [before, position] = [await effects(), await board.store.lastPosition()];
    const watch = board.app.get<{ check: () => void }>(LOG_WATCH);
    const { check } = watch;
    watch.check = () => {
      throw new StoreUnavailable('the log is too short');
    };
    try {
      expect((await act(name, given, cookie)).status).toBe(503);
    } finally {
      watch.check = check;
    }
    expect(await effects()).toEqual(before);
    expect(await actionsSince(position)).toEqual([]);
  },
  limitMs,
);

it('an action that is refused after its beginning was recorded has the code of the refusal', async () => {
  const { given, cookie } = await prepared('createExport');
  const places = Array.from({ length: 4 }, () => act('createExport', given, cookie));
  expect((await Promise.all(places)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const before = await board.store.lastPosition();
  beforeRecord(() => act('createExport', given, cookie));
  expect((await act('createExport', given, cookie)).status).toBe(409);
  const events = await actionsSince(before);
  const failed = events.filter(({ type }) => type === 'UserActionFailed');
  expect(failed).toMatchObject([{ data: { error: 'CONFLICT' } }]);
});

it.each(['createExport', 'replayWebhook'] as const)(
  '%s that finds no room is refused without an event',
  async (name) => {
    const { given, cookie } = await prepared(name);
    for (let count = 1; count <= 5; count += 1) await act(name, given, cookie);
    const before = await board.store.lastPosition();
    expect((await act(name, given, cookie)).status).toBe(409);
    expect(await actionsSince(before)).toEqual([]);
    await board.pool.query("UPDATE exports SET status = 'canceled' WHERE status = 'queued'");
  },
  limitMs,
);

it.each(['cancelExport', 'cancelReplay'] as const)(
  '%s of what has ended is answered alike, and is no action',
  async (name) => {
    const { given, cookie } = await prepared(name);
    const first = await act(name, given, cookie);
    const before = await board.store.lastPosition();
    const again = await act(name, given, cookie);
    expect([again.status, again.body.data]).toEqual([200, first.body.data]);
    expect(await actionsSince(before)).toEqual([]);
  },
  limitMs,
);

it.each(['cancelExport', 'cancelReplay'] as const)(
  '%s of what ends meanwhile is not recorded as a success',
  async (name) => {
    const { given, cookie } = await prepared(name);
    const before = await board.store.lastPosition();
    beforeRecord(async () => {
      const { exportId, replayId } = given.ids ?? {};
      await board.pool.query(
        "UPDATE exports SET status = 'failed', reason = 'test', finished_at = now() WHERE id = $1",
        [exportId ?? null],
      );
      await board.pool.query(
        "UPDATE webhook_replays SET state = 'completed', finished_at = now() WHERE id = $1",
        [replayId ?? null],
      );
    });
    expect((await act(name, given, cookie)).status).toBe(200);
    expect(await actionsSince(before)).toMatchObject([
      { type: 'UserActionStarted', data: { action: name } },
      { type: 'UserActionFailed', data: { error: 'ALREADY_ENDED' } },
    ]);
  },
  limitMs,
);

it('the session that a sign-in ends in the same browser is recorded as signed out, with its own user', async () => {
  const [former, next] = [await board.newUser('viewer'), await board.newUser('viewer')];
  const cookie = await board.signedIn(former);
  const before = await board.store.lastPosition();
  const reply = await act('signIn', { body: { email: next.email, password } }, cookie);
  expect(reply.status).toBe(200);
  const started = (await actionsSince(before)).filter(({ type }) => type === 'UserActionStarted');
  expect(started).toMatchObject([
    { data: { action: 'signIn', userId: next.userId } },
    {
      data: { action: 'signOut', userId: former.userId, organizationId: former.organizationId },
      metadata: { actor: `user:${former.userId}`, requestId: reply.headers['x-request-id'] },
    },
  ]);
  expect((await board.call('/me', { cookie })).status).toBe(401);
});

it('requests that end one session at the same time leave one record of it', async () => {
  const user = await board.newUser('viewer');
  const cookie = await board.signedIn(user);
  const before = await board.store.lastPosition();
  const { store } = board;
  const { append } = store;
  const together = 4;
  const arrived = Promise.withResolvers<void>();
  let count = 0;
  // Each has found the session before the first one ends it.
  store.append = async (...args) => {
    count += 1;
    if (count === together) arrived.resolve();
    await arrived.promise;
    return append.call(store, ...args);
  };
  try {
    const replies = await Promise.all(
      Array.from({ length: together }, () => act('signOut', {}, cookie)),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  } finally {
    store.append = append;
  }
  expect(await actionsSince(before)).toMatchObject([
    { type: 'UserActionStarted', data: { action: 'signOut', userId: user.userId } },
    { type: 'UserActionSucceeded' },
  ]);
});

it('the record of an export of payments names its filter, and no label of a client', async () => {
  const { operator } = tenant.callers;
  const cookie = await board.signedIn(operator);
  const before = await board.store.lastPosition();
  const query = 'status=COMPLETED&createdFrom=2026-01-01&externalPaymentId=Ada%20Lovelace';
  expect((await board.call(`/payments/export?${query}`, { cookie })).status).toBe(200);
  const [started] = await actionsSince(before);
  expect(started?.data['subject']).toEqual({
    status: 'COMPLETED',
    createdFrom: '2026-01-01T00:00:00.000Z',
    externalPaymentId: 'given',
  });
});

it('address and browser of a sign-in are sealed, and gone once the user is erased', async () => {
  const user = await board.newUser('viewer');
  const before = await board.store.lastPosition();
  await act('signIn', { body: { email: user.email, password } }, null);
  const stored = JSON.stringify((await actionsSince(before)).map((one) => one.storedData));
  for (const text of [address, userAgent, user.email]) expect(stored).not.toContain(text);
  expect(stored).toContain('sealed');
  await board.keyring.destroy([`user:${user.userId}`]);
  const [started] = await actionsSince(before);
  expect(started?.data['client']).toMatchObject({ address: null, userAgent: null, erased: true });
});

it('evidence is one HTML file with the life of the payment, in which users stay sealed', async () => {
  const { given, cookie } = await prepared('downloadEvidence');
  const reply = await act('downloadEvidence', given, cookie);
  expect(reply.text).toContain(`<h1>Payment ${given.ids?.['paymentId'] ?? ''}</h1>`);
  expect(reply.text).toContain('PaymentAwaitingConfirmation');
  expect(reply.text).not.toContain(address);
  expect(reply.text).not.toContain('<script');
});

it(
  'evidence as a PDF has the proofs of the payment attached, and is not there before they are',
  async () => {
    const { given, cookie } = await prepared('downloadEvidence');
    const paymentId = given.ids?.['paymentId'] ?? '';
    const download = () =>
      board.call(`/payments/${paymentId}/evidence?format=pdf`, { method: 'GET', cookie, address });
    expect((await download()).status).toBe(503);
    await signLog();
    const reply = await download();
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/pdf']);
    expect(reply.headers['content-disposition']).toBe(
      `attachment; filename="payment-${paymentId}.pdf"`,
    );
    expect(reply.text.slice(0, 5)).toBe('%PDF-');
    expect(reply.text).toContain('proofs.json');
  },
  limitMs,
);

it(
  'PDFs with evidence are made a few at a time for an organization, and what is refused leaves no event',
  async () => {
    const { given, cookie } = await prepared('downloadEvidence');
    const before = await board.store.lastPosition();
    const path = `/payments/${given.ids?.['paymentId'] ?? ''}/evidence?format=pdf`;
    const statuses: number[] = [];
    // They wait for a signature of the log.
    const asked = Array.from({ length: 14 }, async () => {
      const { status, headers } = await board.call(path, { cookie, address });
      if (status === 429) expect(headers['retry-after']).toBe('1');
      statuses.push(status);
    });
    await until(() => statuses.length >= 4, { timeoutMs: limitMs });
    expect(statuses).toEqual([429, 429, 429, 429]);
    await signLog();
    await Promise.all(asked);
    expect(statuses.slice(4)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(await actionsSince(before)).toHaveLength(2 * 10);
  },
  limitMs,
);

it('the events of what a user does hold the address, sealed under the key of the user', async () => {
  const { given, cookie } = await prepared('createExport');
  const before = await board.store.lastPosition();
  expect((await act('createExport', given, cookie)).status).toBe(200);
  const { events } = await board.store.readLog({ after: before });
  const { userId } = tenant.callers.operator;
  expect(JSON.stringify(events)).not.toContain(address);
  const callers = await openAddresses(board.store, events);
  expect(new Set(callers.map((caller) => JSON.stringify(caller)))).toEqual(
    new Set([JSON.stringify({ owner: `user:${userId}`, address })]),
  );
});

it('a failed sign-in and a request without a session leave no event', async () => {
  const { email } = await board.newUser('viewer');
  const before = await board.store.lastPosition();
  for (const body of [
    { email, password: 'not the password' },
    { email: 'nobody@board.example', password },
  ])
    expect((await act('signIn', { body }, null)).status).toBe(401);
  const signedOut = await act('signOut', {}, null);
  expect([signedOut.status, cookieOf(signedOut)]).toEqual([200, expect.any(String)]);
  expect(await actionsSince(before)).toEqual([]);
});

it('sign-ins that cannot be recorded do not lock the account', async () => {
  const user = await board.newUser('viewer');
  const body = { email: user.email, password };
  const log = withoutLog();
  try {
    for (let tries = 1; tries <= 6; tries += 1)
      expect((await act('signIn', { body }, null)).status).toBe(503);
  } finally {
    log.again();
  }
  expect((await act('signIn', { body }, null)).status).toBe(200);
});
