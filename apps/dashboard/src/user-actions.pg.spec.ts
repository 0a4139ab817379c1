/** What users do that changes no other stream is recorded with its actor before it happens, or does not happen. */
import { type UserActionName, userActionNames, type UserRole, userRoles } from '@pis/domain';
import { type RecordedEvent, StoreUnavailable } from '@pis/event-store';
import { type HttpsReceiver, startHttpsReceiver } from '@pis/local-servers/testing';
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

/** Nothing can be recorded until `again` is called. */
function withoutLog(): { again: () => void } {
  const { store } = board;
  const { append } = store;
  store.append = () => Promise.reject(new StoreUnavailable('away'));
  return { again: () => (store.append = append) };
}

/** Everything that one of the actions could change, but for the times that requests leave. */
async function effects(): Promise<unknown> {
  const contents = ['webhook_deliveries', 'webhook_replays', 'exports'].map(
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

it('an action that was refused is recorded with the code of the refusal', async () => {
  const { operator } = tenant.callers;
  const cookie = await board.signedIn(operator);
  const body = { kind: 'fees', format: 'csv' };
  await board.pool.query("UPDATE exports SET status = 'canceled' WHERE status = 'queued'");
  let reply = await act('createExport', { body }, cookie);
  let before = '';
  while (reply.status === 200) {
    before = await board.store.lastPosition();
    reply = await act('createExport', { body }, cookie);
  }
  expect(reply.status).toBe(409);
  expect(await actionsSince(before)).toMatchObject([
    { type: 'UserActionStarted', data: { action: 'createExport', subject: body } },
    { type: 'UserActionFailed', data: { error: 'CONFLICT' } },
  ]);
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
