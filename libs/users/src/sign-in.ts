/**
 * Signing in, and the session behind each request.
 *
 * What always holds: a wrong password, an unknown e-mail address, a disabled user and a locked account give
 * the same answer after the same hashing, at a fixed step of time. A code is accepted once. A session counts only while its user's stream
 * says so, and that is read with each request: a disabled user is out at once, in every process.
 */
import { isSignedIn, type Refusal, type User, user as users } from '@pis/domain';
import { type EventStore, repository, type StreamStates } from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { pause } from '@pis/postgres';
import type pg from 'pg';
import { type Attempt, Credentials } from './credentials.js';
import type { Passwords } from './passwords.js';
import { Sessions } from './sessions.js';
import { totpStepOf } from './totp.js';
import { emailMacOf, totpPlace } from './users.js';

export interface SignInOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly passwords: Passwords;
  readonly states: StreamStates;
  /** Milliseconds since 1970; injected by tests of one-time codes. */
  readonly clock?: () => number;
}

/** CODE_REQUIRED: the password is right, and the user has one-time codes. */
export type SignInRefusal = Refusal<'WRONG_CREDENTIALS' | 'CODE_REQUIRED'>;

/** Refused sign-ins are answered at a multiple of this after they began. */
export const refusalStepMs = 250;

/** An attempt on a known account is written down, which takes a little longer: the answer must not show it. */
async function nextStep(beganAtMs: number): Promise<void> {
  const sinceMs = performance.now() - beganAtMs;
  const untilMs = Math.ceil(sinceMs / refusalStepMs) * refusalStepMs;
  await pause(untilMs - sinceMs);
}

const wrong = { refused: 'WRONG_CREDENTIALS' } as const;

export interface SignedIn {
  /** For the cookie, and nowhere else. */
  readonly token: string;
  readonly user: User;
}

interface Proven {
  readonly user: User;
  readonly passwordHash: string;
}

export class SignIn {
  private readonly credentials;
  private readonly sessions;
  private readonly users;
  private readonly clock;

  constructor(private readonly options: SignInOptions) {
    const { store, pool, states, clock = () => Date.now() } = options;
    this.credentials = new Credentials(pool);
    this.sessions = new Sessions(pool);
    this.users = repository(store, users, { states });
    this.clock = clock;
  }

  /**
   * @param input.code null when the user gave none
   * @throws StoreUnavailable, HashingBusy
   */
  async signIn(input: {
    readonly email: string;
    readonly password: string;
    readonly code: string | null;
  }): Promise<SignedIn | SignInRefusal> {
    const beganAtMs = performance.now();
    const mac = emailMacOf(this.options.keyring, input.email);
    const attempt = await this.credentials.attempt(mac);
    const proven = await this.prove(attempt, input.password, input.code);
    if (!('refused' in proven)) return this.begin(proven);
    if (proven.refused === 'WRONG_CREDENTIALS') await nextStep(beganAtMs);
    return proven;
  }

  /** Whether a user who is signed in is still the one who knows the password. Failures count as at sign-in. */
  async proveAgain(
    userId: string,
    password: string,
    code: string | null,
  ): Promise<Proven | SignInRefusal> {
    const attempt = await this.credentials.attemptOf(userId);
    const proven = await this.prove(attempt, password, code);
    if (!('refused' in proven) && attempt !== null) await this.credentials.giveBack(attempt);
    return proven;
  }

  /** A new session. Refused when the password has changed since it was checked. */
  async begin({ user, passwordHash }: Proven): Promise<SignedIn | SignInRefusal> {
    const { userId, sessionEpoch } = user;
    const token = await this.sessions.begin({ userId, sessionEpoch, passwordHash });
    return token === null ? wrong : { token, user };
  }

  /** The user of a session; null for none. @throws StoreUnavailable */
  async userOf(token: string): Promise<User | null> {
    const session = await this.sessions.find(token);
    if (session === null) return null;
    const { state } = await this.users.load(session.userId);
    return isSignedIn(state, session.sessionEpoch) ? state : null;
  }

  /** @throws StoreUnavailable */
  async signOut(token: string): Promise<void> {
    await this.sessions.end(token);
  }

  /** Deletes ended sessions. @throws StoreUnavailable */
  async prune(): Promise<number> {
    return this.sessions.prune();
  }

  private async prove(
    attempt: Attempt | null,
    password: string,
    code: string | null,
  ): Promise<Proven | SignInRefusal> {
    const { passwords } = this.options;
    const hash = attempt?.passwordHash ?? null;
    let check;
    try {
      check = await passwords.check(password, hash);
    } catch (error) {
      // Nothing was judged.
      if (attempt !== null) await this.credentials.giveBack(attempt);
      throw error;
    }
    if (attempt === null || hash === null || !check.isRight) return wrong;
    const { userId } = attempt;
    const { state } = await this.users.load(userId);
    if (state === null || state.isDisabled) return wrong;
    const refusal = await this.judgeCode(attempt, code);
    if (refusal !== null) return refusal;
    if (!check.isOutdated) return { user: state, passwordHash: hash };
    const passwordHash = await passwords.hash(password);
    await this.credentials.renewHash(userId, hash, passwordHash);
    return { user: state, passwordHash };
  }

  /** Null when the user has no one-time codes, or the code is right and new. */
  private async judgeCode(attempt: Attempt, code: string | null): Promise<SignInRefusal | null> {
    const { userId, totpSecret } = attempt;
    if (totpSecret === null) return null;
    if (code === null) {
      // Asking for the code is no failure. Whoever guesses codes makes an attempt with each.
      await this.credentials.giveBack(attempt);
      return { refused: 'CODE_REQUIRED' };
    }
    const secret = await this.options.keyring.open(totpSecret, ownerOf.user(userId), totpPlace);
    const step = totpStepOf(secret, code, this.clock());
    if (step === null || !(await this.credentials.useStep(userId, step))) return wrong;
    return null;
  }
}
