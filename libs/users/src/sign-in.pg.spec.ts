import { user as users } from '@pis/domain';
import { repository } from '@pis/event-store';
import { HashingBusy, Passwords } from './passwords.js';
import { Sessions, sessionsPerUserMax } from './sessions.js';
import { refusalStepMs } from './sign-in.js';
import {
  at,
  by,
  newEmail,
  other,
  password,
  refusalOf,
  usersWorld,
  type UsersWorld,
} from './testing/users-world.js';
import { totpCode, totpStepAt } from './totp.js';

let world: UsersWorld;
beforeAll(async () => {
  world = await usersWorld();
});
afterAll(() => world?.close());

/** Knows of each check whether there was a hash. */
class Counting extends Passwords {
  readonly checked: (string | null)[] = [];
  override check(given: string, hash: string | null) {
    this.checked.push(hash);
    return super.check(given, hash);
  }
}

describe('signing in', () => {
  it('answers a wrong password, an unknown address and a disabled user alike', async () => {
    const { email, ref } = await world.newUser();
    const tries = [
      { email, password: other },
      { email: newEmail(), password },
    ];
    for (const given of tries)
      expect(await world.aProcess().signIn({ ...given, code: null })).toEqual({
        refused: 'WRONG_CREDENTIALS',
      });
    await world.users.disable(ref, by);
    expect(await world.aProcess().signIn({ email, password, code: null })).toEqual({
      refused: 'WRONG_CREDENTIALS',
    });
  });

  it('hashes as often for an unknown address as for a known one', async () => {
    const { email } = await world.newUser();
    const counting = new Counting();
    const signIn = world.aProcess({ passwords: counting });
    await signIn.signIn({ email, password: other, code: null });
    await signIn.signIn({ email: newEmail(), password: other, code: null });
    expect(counting.checked).toEqual([expect.stringContaining('$argon2id$'), null]);
  });

  it('answers a refusal at a fixed step of time', async () => {
    const { email } = await world.newUser();
    for (const address of [email, newEmail()]) {
      const beganAtMs = performance.now();
      await world.aProcess().signIn({ email: address, password: other, code: null });
      // A timer may fire a millisecond early.
      expect(performance.now() - beganAtMs).toBeGreaterThan(refusalStepMs - 2);
    }
  });

  it('is locked for 15 minutes after five failures, also for the right password', async () => {
    const { userId, email, ref } = await world.newUser();
    const attempt = (given: string) =>
      world.aProcess().signIn({ email, password: given, code: null });
    for (let failures = 1; failures <= 5; failures += 1)
      expect(refusalOf(await attempt(other))).toBe('WRONG_CREDENTIALS');
    expect(refusalOf(await attempt(password))).toBe('WRONG_CREDENTIALS');
    const [listed] = await world.users.list(ref.organizationId);
    const lockedMs = Date.parse(listed?.lockedUntil ?? '') - Date.now();
    expect(lockedMs).toBeGreaterThan(14 * 60_000);
    expect(lockedMs).toBeLessThanOrEqual(15 * 60_000);

    await world.pool.query(
      `UPDATE user_credentials SET locked_until = now() - make_interval(secs => 1) WHERE user_id = $1`,
      [userId],
    );
    expect(refusalOf(await attempt(other))).toBe('WRONG_CREDENTIALS');
    await world.signedIn(email);
  });

  it('forgets failures once the right password was given', async () => {
    const { email } = await world.newUser();
    for (let round = 1; round <= 2; round += 1) {
      for (let failures = 1; failures <= 4; failures += 1)
        await world.aProcess().signIn({ email, password: other, code: null });
      await world.signedIn(email);
    }
  });

  it('gives no more guesses to those who guess at the same time', async () => {
    const { email } = await world.newUser();
    const counting = new Counting();
    const signIn = world.aProcess({ passwords: counting });
    await Promise.all(
      Array.from({ length: 20 }, () => signIn.signIn({ email, password: other, code: null })),
    );
    expect(counting.checked.filter((hash) => hash !== null)).toHaveLength(5);
  });

  it('counts nothing that was not judged', async () => {
    const { email } = await world.newUser();
    class Busy extends Passwords {
      override check(): Promise<never> {
        return Promise.reject(new HashingBusy('busy'));
      }
    }
    const busy = world.aProcess({ passwords: new Busy() });
    for (let tries = 1; tries <= 10; tries += 1)
      await expect(busy.signIn({ email, password, code: null })).rejects.toThrow(HashingBusy);
    await world.signedIn(email);
  });

  it('makes a new token each time, and keeps only its digest', async () => {
    const { userId, email } = await world.newUser();
    const [first, second] = [await world.signedIn(email), await world.signedIn(email)];
    expect(first.token).not.toBe(second.token);
    const { rows } = await world.pool.query(`SELECT * FROM user_sessions WHERE user_id = $1`, [
      userId,
    ]);
    expect(JSON.stringify(rows)).not.toContain(first.token);
  });
});

describe('one-time codes', () => {
  const nowMs = Date.now();
  const clock = () => nowMs;

  async function withCodes() {
    const created = await world.newUser();
    const secret = await world.users.prepareTotp(created.userId);
    const step = totpStepAt(Date.now());
    expect(await world.users.confirmTotp(created.ref, '000', by)).toEqual({
      refused: 'WRONG_CODE',
    });
    expect(await world.users.confirmTotp(created.ref, totpCode(secret, step), by)).toBeUndefined();
    await world.pool.query(`UPDATE user_credentials SET totp_last_step = 0 WHERE user_id = $1`, [
      created.userId,
    ]);
    return { ...created, code: (offset = 0) => totpCode(secret, totpStepAt(nowMs) + offset) };
  }

  it('are asked for only after the right password, and asking is no failure', async () => {
    const { email, code } = await withCodes();
    for (let tries = 1; tries <= 10; tries += 1)
      expect(await world.aProcess({ clock }).signIn({ email, password, code: null })).toEqual({
        refused: 'CODE_REQUIRED',
      });
    expect(
      await world.aProcess({ clock }).signIn({ email, password: other, code: code() }),
    ).toEqual({
      refused: 'WRONG_CREDENTIALS',
    });
    expect(
      await world.aProcess({ clock }).signIn({ email, password, code: code() }),
    ).toHaveProperty('token');
  });

  it('are accepted once, and not after a later one', async () => {
    const { email, code } = await withCodes();
    const attempt = (given: string) =>
      world.aProcess({ clock }).signIn({ email, password, code: given });
    expect(await attempt(code())).toHaveProperty('token');
    expect(refusalOf(await attempt(code()))).toBe('WRONG_CREDENTIALS');
    expect(refusalOf(await attempt(code(-1)))).toBe('WRONG_CREDENTIALS');
    expect(await attempt(code(1))).toHaveProperty('token');
  });

  it('are accepted once when two use one at the same time', async () => {
    const { email, code } = await withCodes();
    const attempts = Array.from({ length: 4 }, () =>
      world.aProcess({ clock }).signIn({ email, password, code: code() }),
    );
    const results = await Promise.all(attempts);
    expect(results.filter((result) => 'token' in result)).toHaveLength(1);
  });

  it('cannot be guessed: five wrong ones lock the account, whatever comes in between', async () => {
    const { email, code } = await withCodes();
    const attempt = (given: string | null) =>
      world.aProcess({ clock }).signIn({ email, password, code: given });
    for (let guesses = 1; guesses <= 5; guesses += 1) {
      expect(refusalOf(await attempt(null))).toBe('CODE_REQUIRED');
      expect(refusalOf(await attempt('000000'))).toBe('WRONG_CREDENTIALS');
    }
    expect(refusalOf(await attempt(null))).toBe('WRONG_CREDENTIALS');
    expect(refusalOf(await attempt(code()))).toBe('WRONG_CREDENTIALS');
  });

  it('are gone after a reset, and with them the sessions', async () => {
    const { email, code, ref } = await withCodes();
    const before = await world.aProcess({ clock }).signIn({ email, password, code: code() });
    const reset = await world.users.reset(ref, null, by);
    if ('refused' in reset) throw new Error(reset.refused);
    expect(await world.aProcess().userOf('token' in before ? before.token : '')).toBeNull();
    expect((await world.signedIn(email, reset.password)).user).toMatchObject({ hasTotp: false });
    expect(refusalOf(await world.aProcess().signIn({ email, password, code: null }))).toBe(
      'WRONG_CREDENTIALS',
    );
  });
});

describe('a session', () => {
  it('ends at once in every process when the user is disabled, and stays ended', async () => {
    const { email, ref } = await world.newUser();
    const { token } = await world.signedIn(email);
    const processes = [world.aProcess(), world.aProcess()];
    for (const each of processes) expect(await each.userOf(token)).not.toBeNull();
    await world.users.disable(ref, by);
    for (const each of processes) expect(await each.userOf(token)).toBeNull();
    await world.users.enable(ref, by);
    for (const each of processes) expect(await each.userOf(token)).toBeNull();
    await world.signedIn(email);
  });

  it('ends with its epoch even if its row is left behind', async () => {
    const { userId, email } = await world.newUser();
    const { token } = await world.signedIn(email);
    const command = { type: 'ChangeUserPassword', at, data: {} } as const;
    await repository(world.store, users).execute(userId, command, by);
    expect(await world.aProcess().userOf(token)).toBeNull();
  });

  it('does not begin with a password that was changed meanwhile', async () => {
    const { email, ref } = await world.newUser();
    const signIn = world.aProcess();
    const proven = await signIn.proveAgain(ref.userId, password, null);
    if ('refused' in proven) throw new Error(proven.refused);
    await world.users.changePassword(ref, other, by);
    expect(await signIn.begin(proven)).toEqual({ refused: 'WRONG_CREDENTIALS' });
    await world.signedIn(email, other);
  });

  it('has the role that the user has now', async () => {
    const { email, ref } = await world.newUser('viewer');
    const { token } = await world.signedIn(email);
    await world.users.changeRole(ref, 'admin', by);
    expect(await world.aProcess().userOf(token)).toMatchObject({ role: 'admin' });
  });

  it('ends when it is signed out, when it was idle for too long, and when it is too old', async () => {
    const { email } = await world.newUser();
    const [out, idle, old] = [
      await world.signedIn(email),
      await world.signedIn(email),
      await world.signedIn(email),
    ].map(({ token }) => token) as [string, string, string];
    await world.aProcess().signOut(out);
    const digest = `sha256(convert_to($1, 'UTF8'))`;
    await world.pool.query(
      `UPDATE user_sessions SET last_seen_at = now() - interval '31 minutes' WHERE digest = ${digest}`,
      [idle],
    );
    await world.pool.query(
      `UPDATE user_sessions SET expires_at = now() - make_interval(secs => 1) WHERE digest = ${digest}`,
      [old],
    );
    for (const token of [out, idle, old]) expect(await world.aProcess().userOf(token)).toBeNull();
    expect(await world.aProcess().prune()).toBeGreaterThanOrEqual(2);
    const { rows } = await world.pool.query(`SELECT FROM user_sessions WHERE digest = ${digest}`, [
      idle,
    ]);
    expect(rows).toEqual([]);
  });

  it('becomes idle although an open page asks again and again', async () => {
    const { email } = await world.newUser();
    const { token } = await world.signedIn(email);
    const idleFor = (minutes: number) =>
      world.pool.query(
        `UPDATE user_sessions SET last_seen_at = now() - $2 * interval '1 minute'
         WHERE digest = sha256(convert_to($1, 'UTF8'))`,
        [token, minutes],
      );
    const seenMinutesAgo = async () => {
      const { rows } = await world.pool.query<{ minutes: number }>(
        `SELECT round(extract(epoch FROM now() - last_seen_at) / 60)::integer AS minutes FROM user_sessions
         WHERE digest = sha256(convert_to($1, 'UTF8'))`,
        [token],
      );
      return rows[0]?.minutes;
    };
    await idleFor(29);
    expect(await world.aProcess().userOf(token, { isOfUser: false })).not.toBeNull();
    expect(await seenMinutesAgo()).toBe(29);
    expect(await world.aProcess().userOf(token)).not.toBeNull();
    expect(await seenMinutesAgo()).toBe(0);
    await idleFor(31);
    expect(await world.aProcess().userOf(token, { isOfUser: false })).toBeNull();
  });

  it('is deleted after its end, however many there are', async () => {
    const { userId } = await world.newUser();
    const ended = 2_500;
    await world.pool.query(
      `INSERT INTO user_sessions (digest, user_id, session_epoch, expires_at)
       SELECT sha256(convert_to(n::text, 'UTF8')), $1, 0, now() FROM generate_series(1, $2::integer) AS n`,
      [userId, ended],
    );
    expect(await world.aProcess().prune()).toBeGreaterThanOrEqual(ended);
    expect(await world.aProcess().prune()).toBe(0);
  });

  it('is one of a bounded number: the oldest ends first', async () => {
    const { userId, email } = await world.newUser();
    const tokens: string[] = [];
    for (let session = 0; session <= sessionsPerUserMax; session += 1)
      tokens.push((await world.signedIn(email)).token);
    const { rows } = await world.pool.query(`SELECT FROM user_sessions WHERE user_id = $1`, [
      userId,
    ]);
    expect(rows).toHaveLength(sessionsPerUserMax);
    expect(await world.aProcess().userOf(tokens[0] ?? '')).toBeNull();
    expect(await world.aProcess().userOf(tokens.at(-1) ?? '')).toMatchObject({ userId });
  }, 60_000);

  it('that cannot be one is ended without the database', async () => {
    const noPool = { query: () => Promise.reject(new Error('it was asked')) };
    const sessions = new Sessions(noPool as unknown as typeof world.pool);
    for (const token of ['', 'x', 'x'.repeat(10_000)])
      expect(await sessions.end(token)).toBeUndefined();
    await expect(sessions.end('x'.repeat(43))).rejects.toThrow('it was asked');
  });

  it('has no other token', async () => {
    const x = 'x';
    for (const token of ['', x, x.repeat(43), `${x.repeat(42)}\0`, x.repeat(10_000)])
      expect(await world.aProcess().userOf(token)).toBeNull();
  });
});
