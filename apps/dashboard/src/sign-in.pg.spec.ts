import { totpCode, totpStepAt } from '@pis/users/testing';
import { type Board, type BoardCall, cookieOf, by, password, startBoard } from './testing/board.js';

let board: Board;
beforeAll(async () => {
  board = await startBoard();
});
afterAll(() => board?.close());

const other = 'incorrect horse battery';
const post = (path: string, body: unknown, more: BoardCall = {}) =>
  board.call(path, { method: 'POST', body, ...more });
const signIn = (email: string, given: string, code?: string) =>
  post('/sign-in', { email, password: given, ...(code === undefined ? {} : { code }) });
const me = (cookie: string | null) => board.call('/me', { cookie });

describe('signing in', () => {
  it('begins a session with a cookie that scripts cannot read and other sites do not send', async () => {
    const { email, userId, organizationId } = await board.newUser('operator');
    const reply = await signIn(email, password);
    expect(reply.headers['set-cookie']).toMatch(
      /^pis_session=[\w-]{43}; Path=\/dashboard; HttpOnly; SameSite=Strict$/,
    );
    const shown = {
      ...{ userId, organizationId, email, role: 'operator', oneTimeCodes: false },
      ...{ organizationName: 'Test Board', environment: 'sandbox' },
    };
    expect(reply.body.data).toEqual({ next: 'dashboard', me: shown });
    expect((await me(cookieOf(reply))).body.data).toEqual(shown);
  });

  it('is asked for without an error: whoever has no session is nobody', async () => {
    const session = async (cookie: string | null) => {
      const { status, body } = await board.call('/session', { cookie });
      return [status, body.data];
    };
    const user = await board.newUser('viewer');
    const cookie = await board.signedIn(user);
    expect(await session(null)).toEqual([200, null]);
    expect(await session('pis_session=none')).toEqual([200, null]);
    expect(await session(cookie)).toEqual([200, (await me(cookie)).body.data]);
    await board.users.disable(user, by);
    expect(await session(cookie)).toEqual([200, null]);
  });

  it('answers a wrong password, an unknown address and a locked account alike', async () => {
    const { email } = await board.newUser('viewer');
    const wrong = await signIn(email, other);
    expect(wrong.status).toBe(401);
    expect(wrong.headers['set-cookie']).toBeUndefined();
    const unknown = await signIn('nobody@board.example', password);
    expect([unknown.status, unknown.body]).toEqual([401, wrong.body]);
    for (let failures = 2; failures <= 5; failures += 1) await signIn(email, other);
    const locked = await signIn(email, password);
    expect([locked.status, locked.body]).toEqual([401, wrong.body]);
  });

  it.each([{}, { email: 1, password }, { email: 'a@b.example', password: 'x'.repeat(513) }, []])(
    'refuses %j before it hashes anything',
    async (body) => {
      expect((await post('/sign-in', body)).status).toBe(400);
    },
  );

  it('never takes over a session that somebody put into the browser', async () => {
    const [mallory, ada] = [await board.newUser('viewer'), await board.newUser('admin')];
    const planted = await board.signedIn(mallory);
    const body = { email: ada.email, password };
    const reply = await post('/sign-in', body, { cookie: planted });
    const fresh = cookieOf(reply);
    expect(fresh).not.toBe(planted);
    expect((await me(planted)).status).toBe(401);
    expect((await me(fresh)).body.data).toMatchObject({ userId: ada.userId });
    // A value that no server made is not taken either.
    const invented = `pis_session=${'x'.repeat(43)}`;
    const again = await post('/sign-in', body, { cookie: invented });
    expect(cookieOf(again)).not.toBe(invented);
    expect((await me(invented)).status).toBe(401);
  });

  it('ends with signing out, on the server too', async () => {
    const cookie = await board.signedIn(await board.newUser('viewer'));
    const reply = await post('/sign-out', undefined, { cookie });
    expect(reply.headers['set-cookie']).toMatch(/^pis_session=; .*Max-Age=0$/);
    expect((await me(cookie)).status).toBe(401);
    expect((await post('/sign-out', undefined)).status).toBe(200);
  });

  it('does nothing for two cookies of one name: somebody else set one of them', async () => {
    const cookie = await board.signedIn(await board.newUser('viewer'));
    expect((await me(`${cookie}; ${cookie}`)).status).toBe(401);
    expect((await me(`theme=dark; ${cookie}`)).status).toBe(200);
  });

  it('is over at once for a disabled user', async () => {
    const user = await board.newUser('operator');
    const cookie = await board.signedIn(user);
    await board.users.disable(user, by);
    expect((await me(cookie)).status).toBe(401);
    expect((await signIn(user.email, password)).status).toBe(401);
  });
});

describe('a new password', () => {
  it('needs the old one, ends the other sessions, and goes on under a new cookie', async () => {
    const user = await board.newUser('viewer');
    const [mine, stolen] = [await board.signedIn(user), await board.signedIn(user)];
    const change = (given: string, newPassword: string) =>
      post('/me/password', { password: given, newPassword }, { cookie: mine });
    const wrong = await change(other, 'another good password');
    expect([wrong.status, wrong.body.error?.details?.[0]?.field]).toEqual([400, 'password']);
    const short = await change(password, 'short');
    expect([short.status, short.body.error?.details?.[0]?.field]).toEqual([400, 'newPassword']);
    const changed = await change(password, 'another good password');
    expect(changed.status).toBe(200);
    expect([(await me(mine)).status, (await me(stolen)).status]).toEqual([401, 401]);
    expect((await me(cookieOf(changed))).status).toBe(200);
    expect((await signIn(user.email, 'another good password')).status).toBe(200);
  });

  it('cannot be set by guessing the old one in a stolen session', async () => {
    const user = await board.newUser('viewer');
    const cookie = await board.signedIn(user);
    for (let guesses = 1; guesses <= 5; guesses += 1)
      await post('/me/password', { password: other, newPassword: password }, { cookie });
    const right = { password, newPassword: 'another good password' };
    expect((await post('/me/password', right, { cookie })).status).toBe(400);
  });
});

it('one-time codes are set up with a QR code, asked for, and turned off', async () => {
  const user = await board.newUser('approver');
  const cookie = await board.signedIn(user);
  const refused = await post('/me/one-time-codes', { password: other }, { cookie });
  expect(refused.status).toBe(400);
  const prepared = await post('/me/one-time-codes', { password }, { cookie });
  const { secret, qrCode } = prepared.body.data as { secret: string; qrCode: string };
  expect(qrCode).toMatch(/^<svg /);
  const code = (offset: number) => totpCode(secret, totpStepAt(Date.now()) + offset);
  expect((await post('/me/one-time-codes/confirm', { code: '1' }, { cookie })).status).toBe(400);
  const confirmed = await post('/me/one-time-codes/confirm', { code: code(-1) }, { cookie });
  expect(confirmed.status).toBe(200);

  const asked = await signIn(user.email, password);
  expect([asked.status, asked.body.data]).toEqual([200, { next: 'code' }]);
  expect(asked.headers['set-cookie']).toBeUndefined();
  expect((await signIn(user.email, password, '000000')).status).toBe(401);
  const now = code(0);
  const signedIn = await signIn(user.email, password, now);
  expect(signedIn.body.data).toMatchObject({ next: 'dashboard', me: { oneTimeCodes: true } });
  expect((await signIn(user.email, password, now)).status).toBe(401);

  const mine = cookieOf(signedIn);
  const off = { password, code: code(1) };
  const turnedOff = await post('/me/one-time-codes/disable', off, { cookie: mine });
  expect(turnedOff.status).toBe(200);
  expect([(await me(mine)).status, (await me(cookieOf(turnedOff))).status]).toEqual([401, 200]);
  expect((await signIn(user.email, password)).body.data).toMatchObject({ next: 'dashboard' });
});
