/** Signing in with an OpenID provider, as a browser does it: here, there, and back again. */
import { type RecordedEvent, StoreUnavailable } from '@pis/event-store';
import { LOG_WATCH } from '@pis/service-kit';
import { type Board, type BoardReply, by, password, startBoard } from '../testing/board.js';
import {
  type Deviation,
  startTestProvider,
  type TestProvider,
} from '../testing/oidc-test-provider.js';
import { answerBytesMax } from './bounded-fetch.js';
import { ownPath } from './oidc-sign-in.js';

let board: Board;
let provider: TestProvider;
beforeAll(async () => {
  provider = await startTestProvider();
  board = await startBoard({ changes: settings() });
});
afterAll(async () => {
  await board?.close();
  await provider?.close();
});

const settings = () => ({
  PIS_PUBLIC_URL: 'http://board.example',
  PIS_OIDC_ISSUER: provider.issuer,
  PIS_OIDC_CLIENT_ID: provider.clientId,
  PIS_OIDC_CLIENT_SECRET: provider.clientSecret,
  PIS_OIDC_NAME: 'Example ID',
});
const refused = '/dashboard/sign-in?problem=refused';
const unavailable = '/dashboard/sign-in?problem=unavailable';

/** `name=value` of each cookie that an answer sets, by name. */
function cookiesOf({ headers }: BoardReply): ReadonlyMap<string, string> {
  const set = [(headers['set-cookie'] ?? []) as string | readonly string[]].flat();
  return new Map(
    set.flatMap((text) => {
      const [pair = ''] = text.split(';');
      return [[pair.split('=')[0] ?? '', pair] as const];
    }),
  );
}
const attemptOf = (reply: BoardReply) => cookiesOf(reply).get('pis_oidc') ?? '';
const sessionOf = (reply: BoardReply) => cookiesOf(reply).get('pis_session') ?? null;

/** The browser is at the provider. */
async function begun(on = board, next?: string, session: string | null = null) {
  const body = { next };
  const reply = await on.call('/sign-in/oidc', { method: 'POST', body, cookie: session });
  const { url } = reply.body.data as { url: string };
  return { url, cookie: attemptOf(reply), reply };
}
/** The browser comes back, as from another site. */
const back = (path: string, cookie: string | null, on = board) =>
  on.call(path, { cookie, headers: { 'sec-fetch-site': 'cross-site' } });

async function signIn(email: string, deviation?: Deviation) {
  const { url, cookie } = await begun();
  return back(provider.authorize(url, email, deviation), cookie);
}
/** Records of sessions that ended, after a position. */
async function signOutsSince(after: string): Promise<readonly RecordedEvent[]> {
  const { events } = await board.store.readLog({ after, streamPrefixes: ['userAction-'] });
  const started = events.filter(({ data }) => data['action'] === 'signOut');
  const streams = new Set(started.map(({ streamId }) => streamId));
  return events.filter(({ streamId }) => streams.has(streamId));
}
function expectRefused(reply: BoardReply, location = refused): void {
  expect([reply.status, reply.headers['location']]).toEqual([303, location]);
  expect(sessionOf(reply)).toBeNull();
}

describe('signing in with the provider', () => {
  it('begins a session of the user who has the address, in any case', async () => {
    const user = await board.newUser('operator');
    const { url, cookie, reply } = await begun(board, '/payments?status=FAILED');
    expect(reply.headers['set-cookie']).toMatch(
      /^pis_oidc=[\w-]+\.\w{64}; Path=\/dashboard; HttpOnly; SameSite=Lax; Max-Age=600$/,
    );
    const done = await back(provider.authorize(url, user.email.toUpperCase()), cookie);
    expect([done.status, done.headers['location'], done.headers['cache-control']]).toEqual([
      ...[303, '/dashboard/payments?status=FAILED', 'no-store'],
    ]);
    expect(attemptOf(done)).toBe('pis_oidc=');
    const me = await board.call('/me', { cookie: sessionOf(done) });
    expect(me.body.data).toMatchObject({ userId: user.userId, role: 'operator' });
  });

  it('takes the address from the UserInfo endpoint of a provider that tells it there alone', async () => {
    const user = await board.newUser('viewer');
    expect(sessionOf(await signIn(user.email, { isInUserInfo: true }))).not.toBeNull();
  });

  it('never takes over a session that somebody put into the browser', async () => {
    const [mallory, ada] = [await board.newUser('viewer'), await board.newUser('admin')];
    const planted = await board.signedIn(mallory);
    const { url, cookie } = await begun();
    const done = await back(provider.authorize(url, ada.email), `${cookie}; ${planted}`);
    expect(sessionOf(done)).not.toBe(planted);
    expect((await board.call('/me', { cookie: planted })).status).toBe(401);
  });

  it('ends the session that the browser had, and records that with its user', async () => {
    const [former, next] = [await board.newUser('viewer'), await board.newUser('viewer')];
    const session = await board.signedIn(former);
    const { url, cookie } = await begun(board, undefined, session);
    const before = await board.store.lastPosition();
    // The browser keeps its session's cookie back from a request that another site leads to.
    const done = await back(provider.authorize(url, next.email), cookie);
    expect(sessionOf(done)).not.toBeNull();
    expect((await board.call('/me', { cookie: session })).status).toBe(401);
    expect(await signOutsSince(before)).toMatchObject([
      {
        type: 'UserActionStarted',
        data: { userId: former.userId, organizationId: former.organizationId },
        metadata: {
          actor: `user:${former.userId}`,
          requestId: done.headers['x-request-id'],
        },
      },
      { type: 'UserActionSucceeded' },
    ]);
  });

  it('records nothing of a session that the browser had and that has ended since', async () => {
    const [former, next] = [await board.newUser('viewer'), await board.newUser('viewer')];
    const session = await board.signedIn(former);
    const { url, cookie } = await begun(board, undefined, session);
    await board.call('/sign-out', { method: 'POST', cookie: session });
    const before = await board.store.lastPosition();
    const done = await back(provider.authorize(url, next.email), cookie);
    expect(sessionOf(done)).not.toBeNull();
    expect(await signOutsSince(before)).toEqual([]);
  });

  it('begins no session in a browser whose former one cannot be ended with a record', async () => {
    const [former, next] = [await board.newUser('viewer'), await board.newUser('viewer')];
    const session = await board.signedIn(former);
    const { url, cookie } = await begun(board, undefined, session);
    const { store } = board;
    const { append } = store;
    store.append = (...args) =>
      args[2].some(({ data }) => data['action'] === 'signOut')
        ? Promise.reject(new StoreUnavailable('away'))
        : append.call(store, ...args);
    try {
      expectRefused(await back(provider.authorize(url, next.email), cookie), unavailable);
    } finally {
      store.append = append;
    }
    expect((await board.call('/me', { cookie: session })).status).toBe(200);
  });

  it('begins no session while the log lacks events that were read from it', async () => {
    const user = await board.newUser('viewer');
    const { url, cookie } = await begun();
    const before = await board.store.lastPosition();
    const watch = board.app.get<{ check: () => void }>(LOG_WATCH);
    const { check } = watch;
    watch.check = () => {
      throw new StoreUnavailable('the log is too short');
    };
    try {
      expectRefused(await back(provider.authorize(url, user.email), cookie), unavailable);
    } finally {
      watch.check = check;
    }
    expect((await board.store.readLog({ after: before })).events).toEqual([]);
  });

  it.each<[string, Deviation]>([
    ['a wrong nonce', { claims: { nonce: 'another' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['another audience', { claims: { aud: 'another client' } }],
    ['another issuer', { claims: { iss: 'https://evil.example' } }],
    ['an end that has passed', { claims: { exp: Math.floor(Date.now() / 1_000) - 3_600 } }],
    ['a signature by another key', { isForged: true }],
    ['an address that is not verified', { claims: { email_verified: false } }],
    ['an address that is said to be verified in words', { claims: { email_verified: 'true' } }],
  ])('is refused for an ID token with %s', async (_title, deviation) => {
    const user = await board.newUser('viewer');
    expectRefused(await signIn(user.email, deviation));
  });

  it('is refused for an address whose letters become those of another user in lower case', async () => {
    const { organizationId } = await board.newUser('viewer');
    const email = 'kate@board.example';
    await board.users.create({ organizationId, email, role: 'admin', password }, by);
    const kelvin = '\u212a';
    expect(kelvin.toLowerCase()).toBe('k');
    expectRefused(await signIn(`${kelvin}ate@board.example`));
    expect(sessionOf(await signIn(email))).not.toBeNull();
  });

  it('is refused for an unknown, a disabled and a locked user', async () => {
    expectRefused(await signIn('nobody@board.example'));
    const disabled = await board.newUser('viewer');
    await board.users.disable(disabled, by);
    expectRefused(await signIn(disabled.email));
    const locked = await board.newUser('viewer');
    for (let failures = 1; failures <= 5; failures += 1)
      await board.call('/sign-in', {
        method: 'POST',
        body: { email: locked.email, password: 'incorrect horse battery' },
      });
    expectRefused(await signIn(locked.email));
  });
});

describe('the way back', () => {
  it('works only in the browser that began, with its state, and once', async () => {
    const user = await board.newUser('viewer');
    const mine = await begun();
    const other = await begun();
    const path = provider.authorize(mine.url, user.email);
    expectRefused(await back(path, null));
    expectRefused(await back(path, other.cookie));
    expectRefused(await back(path, `${mine.cookie}x`));
    expectRefused(await back(path.replace(/state=[^&]+/, 'state=another'), mine.cookie));
    expect(sessionOf(await back(path, mine.cookie))).not.toBeNull();
    expectRefused(await back(path, mine.cookie));
  });

  it('refuses a code that was used, also by who has a fresh attempt', async () => {
    const user = await board.newUser('viewer');
    const first = await begun();
    const used = provider.authorize(first.url, user.email);
    await back(used, first.cookie);
    const second = await begun();
    const fresh = provider.authorize(second.url, user.email);
    const code = new URLSearchParams(used.split('?')[1]).get('code') ?? '';
    expectRefused(await back(fresh.replace(/code=[^&]+/, `code=${code}`), second.cookie));
  });

  it('says so when the user or the provider declined', async () => {
    const { url, cookie } = await begun();
    const state = new URL(url).searchParams.get('state') ?? '';
    const path = `/dashboard/oidc/callback?error=access_denied&state=${state}`;
    expectRefused(await back(path, cookie));
  });

  it.each([
    ['/payments?a=b#c', '/payments?a=b#c'],
    ['//evil.example/', '/'],
    ['/\\evil.example', '/'],
    ['https://evil.example/', '/'],
    ['/../../evil', '/'],
    ['/%2e%2e/pay/x', '/'],
    ['', '/'],
  ])('leads from %p to %p of the app', (next, path) => {
    expect(ownPath(next)).toBe(path);
  });
});

describe('a provider that is down', () => {
  it('stops neither the start nor sign-in by password, and is asked again later', async () => {
    const own = await startTestProvider();
    own.isDown = true;
    const alone = await startBoard({
      changes: { ...settings(), PIS_OIDC_ISSUER: own.issuer },
    });
    try {
      const user = await alone.newUser('viewer');
      const body = { email: user.email, password };
      expect((await alone.call('/sign-in', { method: 'POST', body })).status).toBe(200);
      const failed = await alone.call('/sign-in/oidc', { method: 'POST', body: {} });
      expect(failed.status).toBe(503);
      expect((await alone.call('/sign-in')).body.data).toEqual({ oidc: { name: 'Example ID' } });

      own.isDown = false;
      const { url, cookie } = await begun(alone);
      const path = own.authorize(url, user.email);
      own.isDown = true;
      expectRefused(await back(path, cookie, alone), unavailable);
      own.isDown = false;
      const again = await begun(alone);
      expect(
        sessionOf(await back(own.authorize(again.url, user.email), again.cookie, alone)),
      ).not.toBeNull();
      expect(own.discoveries).toBe(1);
    } finally {
      await alone.close();
      await own.close();
    }
  }, 60_000);

  it('counts as down while its answers are too long to be read whole', async () => {
    const own = await startTestProvider();
    const alone = await startBoard({ changes: { ...settings(), PIS_OIDC_ISSUER: own.issuer } });
    const tooLong = 2 * answerBytesMax;
    try {
      const user = await alone.newUser('viewer');
      own.padding = tooLong;
      const failed = await alone.call('/sign-in/oidc', { method: 'POST', body: {} });
      expect(failed.status).toBe(503);
      own.padding = 0;
      const { url, cookie } = await begun(alone);
      const path = own.authorize(url, user.email);
      own.padding = tooLong;
      expectRefused(await back(path, cookie, alone), unavailable);
      own.padding = 10_000;
      const again = await begun(alone);
      const done = await back(own.authorize(again.url, user.email), again.cookie, alone);
      expect(sessionOf(done)).not.toBeNull();
    } finally {
      await alone.close();
      await own.close();
    }
  }, 60_000);

  it('is no provider at all where none is set', async () => {
    const without = await startBoard();
    try {
      expect((await without.call('/sign-in')).body.data).toEqual({ oidc: null });
      const begin = await without.call('/sign-in/oidc', { method: 'POST', body: {} });
      expect(begin.status).toBe(404);
    } finally {
      await without.close();
    }
  });
});

it('nobody learns the provider’s secret or the address of a user from the logs or answers', async () => {
  const user = await board.newUser('viewer');
  const { reply } = await begun();
  const done = await signIn(user.email, { isForged: true });
  const shown = JSON.stringify([reply, done]);
  for (const secret of [provider.clientSecret, user.email]) expect(shown).not.toContain(secret);
});
