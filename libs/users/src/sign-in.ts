/**
 * Signing in, and the session behind each request.
 *
 * What always holds: a wrong password, an unknown e-mail address, a disabled user and a locked account give
 * the same answer after the same hashing, at a fixed step of time. A code is accepted once. A session counts only while its user's stream
 * says so, and that is read with each request: a disabled user is out at once, in every process. A sign-in is recorded
 * before its session begins; refused ones leave no event, so strangers cannot make the log grow.
 */
import { isSignedIn, type Refusal, type User, user as users } from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  repository,
  type StreamStates,
  systemContext,
} from '@pis/event-store';
import { KeyDestroyed, type Keyring, ownerOf } from '@pis/keyring';
import { pause } from '@pis/postgres';
import type pg from 'pg';
import { type Attempt, Credentials } from './credentials.js';
import type { Passwords } from './passwords.js';
import { type Session, Sessions } from './sessions.js';
import { totpStepOf } from './totp.js';
import { recordUserAction } from './user-actions.js';
import { emailMacOf, totpPlace } from './users.js';

export interface SignInOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly passwords: Passwords;
  readonly states: StreamStates;
  /** Called before a sign-in is recorded, once the user is proven: what it throws refuses the sign-in. */
  readonly admit?: (userId: string) => void;
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

/** The browser that a session began with, as its requests say. Personal data. */
export interface SessionClient {
  readonly address: string;
  readonly userAgent: string | null;
}

/** A session as its user sees it. */
export interface SessionView {
  readonly sessionId: string;
  /** Whether it is the one that asks. */
  readonly isCurrent: boolean;
  /** Null for a session that began before clients were noted. */
  readonly client: SessionClient | null;
  readonly createdAt: string;
  /** May lag by a minute. */
  readonly lastSeenAt: string;
}

const clientPlace = 'session';
const userAgentLengthMax = 300;

const wrong = { refused: 'WRONG_CREDENTIALS' } as const;

export interface SignedIn {
  /** For the cookie, and nowhere else. */
  readonly token: string;
  readonly user: User;
}

/** Names a session without its token: nobody gets a session by it. */
export interface SessionName {
  readonly userId: string;
  /** UUID. */
  readonly sessionId: string;
}

/** A session that counts. */
export interface OpenSession {
  /** UUID. */
  readonly sessionId: string;
  readonly user: User;
}

/** The request behind an action; the user is the actor. */
export type Cause = Omit<CommandContext, 'actor'>;

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
   * @param input.client noted beside the session, and in the record of the sign-in
   * @throws StoreUnavailable also when the sign-in cannot be recorded; HashingBusy
   */
  async signIn(input: {
    readonly email: string;
    readonly password: string;
    readonly code: string | null;
    readonly client?: SessionClient;
    readonly cause?: Cause;
  }): Promise<SignedIn | SignInRefusal> {
    const beganAtMs = performance.now();
    const mac = emailMacOf(this.options.keyring, input.email);
    const attempt = await this.credentials.attempt(mac);
    const proven = await this.prove(attempt, input.password, input.code);
    if (!('refused' in proven)) {
      const begin = () => this.begin(proven, input.client);
      const notBegun = async () => {
        if (attempt !== null) await this.credentials.giveBack(attempt);
      };
      return this.recorded(proven.user, input, begin, notBegun);
    }
    if (proven.refused === 'WRONG_CREDENTIALS') await nextStep(beganAtMs);
    return proven;
  }

  /**
   * Signs in the user of an e-mail address that an identity provider vouches for. One-time codes are not asked for:
   * that is the provider's business.
   * @throws StoreUnavailable also when the sign-in cannot be recorded
   */
  async signInElsewhere(
    email: string,
    client: SessionClient,
    cause?: Cause,
  ): Promise<SignedIn | SignInRefusal> {
    const userId = await this.credentials.unlocked(emailMacOf(this.options.keyring, email));
    if (userId === null) return wrong;
    const { state } = await this.users.load(userId);
    if (state === null || state.isDisabled) return wrong;
    return this.recorded(state, { client, ...(cause && { cause }) }, async () => {
      const sealedClient = await this.sealed(userId, client);
      const { sessionEpoch } = state;
      const session = { userId, sessionEpoch, passwordHash: null, sealedClient };
      const token = await this.sessions.begin(session);
      return token === null ? wrong : { token, user: state };
    });
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
  async begin(
    { user, passwordHash }: Proven,
    client?: SessionClient,
  ): Promise<SignedIn | SignInRefusal> {
    const { userId, sessionEpoch } = user;
    const sealedClient = client === undefined ? null : await this.sealed(userId, client);
    const token = await this.sessions.begin({ userId, sessionEpoch, passwordHash, sealedClient });
    return token === null ? wrong : { token, user };
  }

  /**
   * The user of a session; null for none.
   * @param request.isOfUser false for one that a page makes by itself: it does not keep the session
   * @throws StoreUnavailable
   */
  async userOf(token: string, { isOfUser } = { isOfUser: true }): Promise<User | null> {
    const open = await this.opened(await this.sessions.find(token, isOfUser));
    return open && open.user;
  }

  /** The session of a token, and its user; null for none. It is no request of the user. @throws StoreUnavailable */
  async sessionOf(token: string): Promise<OpenSession | null> {
    return this.opened(await this.sessions.find(token, false));
  }

  /** A session by its ID, and its user; null for none. It is no request of the user. @throws StoreUnavailable */
  async openSession({ userId, sessionId }: SessionName): Promise<OpenSession | null> {
    return this.opened(await this.sessions.findById(userId, sessionId));
  }

  /** Those of the tokens whose sessions go on. For long answers: it does not count as a request. @throws StoreUnavailable */
  async stillSignedIn(tokens: readonly string[]): Promise<ReadonlySet<string>> {
    const sessions = await this.sessions.findAll(tokens);
    const userIds = [...new Set([...sessions.values()].map(({ userId }) => userId))];
    const states = new Map(
      // Concurrent reads are one statement (stream-loader.ts).
      await Promise.all(
        userIds.map(async (userId) => [userId, (await this.users.load(userId)).state] as const),
      ),
    );
    const valid = [...sessions].filter(([, { userId, sessionEpoch }]) =>
      isSignedIn(states.get(userId) ?? null, sessionEpoch),
    );
    return new Set(valid.map(([token]) => token));
  }

  /** @throws StoreUnavailable */
  async signOut(token: string): Promise<void> {
    await this.sessions.end(token);
  }

  /** The user's sessions, newest first. @param token that of the session that asks @throws StoreUnavailable */
  async sessionsOf({ userId, sessionEpoch }: User, token: string): Promise<readonly SessionView[]> {
    const rows = await this.sessions.ofUser(userId, sessionEpoch, token);
    const owner = ownerOf.user(userId);
    return Promise.all(
      rows.map(async ({ sessionId, isCurrent, sealedClient, createdAt, lastSeenAt }) => ({
        sessionId,
        isCurrent,
        client:
          sealedClient === null
            ? null
            : (JSON.parse(
                await this.options.keyring.open(sealedClient, owner, clientPlace),
              ) as SessionClient),
        createdAt: createdAt.toISOString(),
        lastSeenAt: lastSeenAt.toISOString(),
      })),
    );
  }

  /** False when the user has no such session. @throws StoreUnavailable */
  async endSession(userId: string, sessionId: string): Promise<boolean> {
    return this.sessions.endOne(userId, sessionId);
  }

  /** @param token that of the session that stays @throws StoreUnavailable */
  async endOtherSessions(userId: string, token: string): Promise<void> {
    await this.sessions.endOthers(userId, token);
  }

  /** Deletes ended sessions. @throws StoreUnavailable */
  async prune(): Promise<number> {
    return this.sessions.prune();
  }

  /**
   * Begins a session as an action of its user. A user who was erased meanwhile is refused.
   * @param notBegun called when the user is not admitted or the action could not be recorded
   */
  private async recorded(
    user: User,
    { client, cause }: { readonly client?: SessionClient; readonly cause?: Cause },
    begin: () => Promise<SignedIn | SignInRefusal>,
    notBegun: () => Promise<void> = () => Promise.resolve(),
  ): Promise<SignedIn | SignInRefusal> {
    const by = { ...systemContext('dashboard'), ...cause, actor: `user:${user.userId}` };
    const action = { name: 'signIn', user, client: client ? shortened(client) : null } as const;
    let isBegun = false;
    try {
      this.options.admit?.(user.userId);
      return await recordUserAction(this.options.store, action, by, () => {
        isBegun = true;
        return begin();
      });
    } catch (error) {
      if (error instanceof KeyDestroyed) return wrong;
      if (!isBegun) await notBegun();
      throw error;
    }
  }

  private async opened(session: Session | null): Promise<OpenSession | null> {
    if (session === null) return null;
    const { sessionId, sessionEpoch } = session;
    const { state } = await this.users.load(session.userId);
    return isSignedIn(state, sessionEpoch) ? { sessionId, user: state } : null;
  }

  private async sealed(userId: string, client: SessionClient): Promise<string> {
    const text = JSON.stringify(shortened(client));
    return this.options.keyring.seal(ownerOf.user(userId), text, clientPlace);
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

function shortened({ address, userAgent }: SessionClient): SessionClient {
  return { address, userAgent: userAgent?.slice(0, userAgentLengthMax) ?? null };
}
