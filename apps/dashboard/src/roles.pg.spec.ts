/**
 * Walks all operations, for all roles, in their own organization and in another one, and without a session: over HTTP,
 * on real records. Refused calls change nothing.
 */
import type { AddressInfo } from 'node:net';
import { type UserRole, userRoles } from '@pis/domain';
import { type HttpsReceiver, startHttpsReceiver } from '@pis/local-servers/testing';
import { projections } from '@pis/read-models';
import type { Declared } from './operation.js';
import { type OperationName, operations } from './operations.js';
import { apiPath } from './routes.js';
import { type Board, type BoardReply, startBoard } from './testing/board.js';
import {
  amountAbove,
  type Caller,
  type Given,
  type RoleRow,
  roleRows,
  type Tenant,
} from './testing/role-rows.js';

const limitMs = 120_000;
const names = Object.keys(operations) as OperationName[];

let receiver: HttpsReceiver;
let board: Board;
let address: string;
let mine: Tenant;
let theirs: Tenant;
let rows: Record<OperationName, RoleRow>;

beforeAll(async () => {
  receiver = await startHttpsReceiver();
  receiver.respondWith(() => ({}));
  board = await startBoard({
    projections: Object.values(projections),
    changes: {
      PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
    },
  });
  await board.app.listen(0, '127.0.0.1');
  const { port } = board.app.getHttpServer().address() as AddressInfo;
  address = `http://127.0.0.1:${port}`;
  mine = await tenant();
  theirs = await tenant();
  rows = roleRows(board, receiver.url);
}, limitMs);
afterAll(async () => {
  await board?.close();
  await receiver?.close();
});

async function tenant(): Promise<Tenant> {
  const organizationId = await board.newOrganization();
  const originatorId = await board.newOriginator(organizationId);
  const callers = new Map<UserRole, Caller>();
  for (const role of userRoles) {
    const user = await board.newUser(role, organizationId);
    callers.set(role, { ...user, role, cookie: await board.signedIn(user) });
  }
  const made = Object.fromEntries(callers) as Tenant['callers'];
  const { cookie } = made.admin;
  const set = { method: 'PATCH', cookie, body: { amountAbove } } as const;
  expect((await board.call('/settings/approvals', set)).status).toBe(200);
  return { organizationId, originatorId, callers: made };
}

/** `live` answers without an end: its status is enough. */
async function call(
  name: OperationName,
  { ids = {}, body }: Given,
  cookie: string | null,
): Promise<Pick<BoardReply, 'status' | 'text'>> {
  const { method, path }: Declared = operations[name];
  const filled = path.replaceAll(/:(\w+)/g, (_all, id: string) => ids[id] ?? '');
  if (name !== 'live')
    return board.call(filled, { method, cookie, ...(body === undefined ? {} : { body }) });
  const closing = new AbortController();
  const headers = cookie === null ? {} : { cookie };
  const reply = await fetch(`${address}${apiPath}${filled}`, { headers, signal: closing.signal });
  closing.abort();
  return { status: reply.status, text: '' };
}

/** All that an operation could change. Sessions are touched by each request: only their number counts. */
async function everything(): Promise<unknown> {
  const tables = [
    ...['user_credentials', 'webhook_deliveries', 'webhook_replays', 'erased_parties'],
    ...['exports', 'export_downloads'],
  ];
  const contents = tables.map(
    (name) => `(SELECT md5(string_agg(t::text, ',' ORDER BY t::text))
    FROM ${name} t) AS ${name}`,
  );
  const counts = ['user_sessions', 'payment_links', 'payment_link_accesses'].map(
    (name) => `(SELECT count(*)::integer FROM ${name}) AS ${name}`,
  );
  const { rows: found } = await board.pool.query<object>(
    `SELECT ${[...contents, ...counts].join(', ')}`,
  );
  return { position: await board.store.lastPosition(), ...found[0] };
}

const rank = (role: UserRole) => userRoles.indexOf(role);
const isEnough = (role: UserRole, least: RoleRow['least']) =>
  least === 'anyone' || rank(role) >= rank(least);

it('every operation has a row, and no row is of an operation that does not exist', () => {
  expect(Object.keys(rows).toSorted()).toEqual(names.toSorted());
});

describe.each(names)('%s', (name) => {
  const rowOf = () => {
    const row = rows[name];
    if (row === undefined) throw new Error(`the operation ${name} has no row in role-rows.ts`);
    return row;
  };
  const given = (caller: Caller): Promise<Given> | Given => rowOf().given?.(mine, caller) ?? {};

  it(
    'is allowed to its roles in their own organization',
    async () => {
      const { least, allowed = 200 } = rowOf();
      for (const caller of Object.values(mine.callers)) {
        if (!isEnough(caller.role, least)) continue;
        const { status, text } = await call(
          ...[name, await given(caller), least === 'anyone' ? null : caller.cookie],
        );
        expect([caller.role, status, status === allowed ? '' : text]).toEqual([
          ...[caller.role, allowed, ''],
        ]);
      }
    },
    limitMs,
  );

  it(
    'is refused to all others, and refusing it changes nothing',
    async () => {
      const { least, elsewhere } = rowOf();
      if (least === 'anyone') return;
      const records = new Map<UserRole, Given>();
      for (const caller of Object.values(mine.callers))
        records.set(caller.role, await given(caller));
      const of = (role: UserRole) => records.get(role) ?? {};
      const before = await everything();
      expect((await call(name, of('operator'), null)).status).toBe(401);
      for (const { role, cookie } of Object.values(mine.callers))
        if (!isEnough(role, least))
          expect([role, (await call(name, of(role), cookie)).status]).toEqual([role, 403]);
      for (const { role, cookie } of Object.values(theirs.callers)) {
        if (isEnough(role, least) && elsewhere === 'mentions nothing') continue;
        const expected = isEnough(role, least) ? 404 : 403;
        expect([role, (await call(name, of(role), cookie)).status]).toEqual([role, expected]);
      }
      expect(await everything()).toEqual(before);
    },
    limitMs,
  );

  it(
    'shows another organization nothing',
    async () => {
      const { least, elsewhere, allowed = 200 } = rowOf();
      if (elsewhere !== 'mentions nothing' || least === 'anyone') return;
      const { cookie } = theirs.callers.admin;
      const { status, text } = await call(name, await given(theirs.callers.admin), cookie);
      expect(status).toBe(allowed);
      const own = [mine.organizationId, mine.originatorId];
      for (const { userId, email } of Object.values(mine.callers)) own.push(userId, email);
      for (const id of [...own, ...(await recordsOf(mine))]) expect(text).not.toContain(id);
    },
    limitMs,
  );
});

/** The IDs of what the walk has left in the lists of a tenant. */
async function recordsOf({ callers: { admin } }: Tenant): Promise<readonly string[]> {
  const lists = ['payments', 'approvals', 'contacts', 'webhooks', 'api-keys'];
  const found = await Promise.all(
    lists.map((list) => board.call(`/${list}`, { cookie: admin.cookie })),
  );
  const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
  return found.flatMap(({ text }) => text.match(uuid) ?? []);
}
