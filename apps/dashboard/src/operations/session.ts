/** Signing in and out, and what users change about themselves. */
import type { UserRole } from '@pis/domain';
import { z } from 'zod';
import { op } from '../operation.js';

/** More than any address and password that is accepted: what is longer is refused before it is hashed. */
const textMax = 512;
const secret = z.string().max(textMax);
/** Spaces between the digits do no harm. */
const code = z.string().max(20);

export interface Me {
  readonly userId: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly email: string | null;
  readonly role: UserRole;
  /** Whether signing in takes a one-time code. */
  readonly oneTimeCodes: boolean;
  readonly environment: 'sandbox' | 'production';
}

/** `code`: the password is right; ask for the one-time code and send all three. */
export type SignedIn = { readonly next: 'code' } | { readonly next: 'dashboard'; readonly me: Me };

/** A session of the user who asks. */
export interface OwnSession {
  readonly sessionId: string;
  /** Whether it is the one that asks. */
  readonly isCurrent: boolean;
  /** As its browser gave them when it began; null for an older session. */
  readonly client: { readonly address: string; readonly userAgent: string | null } | null;
  readonly createdAt: string;
  /** May lag by a minute. */
  readonly lastSeenAt: string;
}

export interface TotpSetup {
  /** Base32, to type by hand. */
  readonly secret: string;
  /** The QR code, as SVG. */
  readonly qrCode: string;
}

export const sessionOperations = {
  signIn: op<SignedIn>()({
    method: 'POST',
    path: '/sign-in',
    role: 'anyone',
    body: z.object({ email: secret, password: secret, code: code.nullish() }),
  }),
  signOut: op<null>()({ method: 'POST', path: '/sign-out', role: 'anyone' }),
  me: op<Me>()({ method: 'GET', path: '/me', role: 'viewer' }),
  /** Null without a session. That is no error, so browsers write none to the console. */
  session: op<Me | null>()({ method: 'GET', path: '/session', role: 'anyone' }),
  /** Ends all other sessions. This one goes on under a new cookie. */
  changePassword: op<null>()({
    method: 'POST',
    path: '/me/password',
    role: 'viewer',
    body: z.object({ password: secret, code: code.nullish(), newPassword: secret }),
  }),
  prepareOneTimeCodes: op<TotpSetup>()({
    method: 'POST',
    path: '/me/one-time-codes',
    role: 'viewer',
    body: z.object({ password: secret, code: code.nullish() }),
  }),
  confirmOneTimeCodes: op<null>()({
    method: 'POST',
    path: '/me/one-time-codes/confirm',
    role: 'viewer',
    body: z.object({ code }),
  }),
  /** Ends all other sessions. */
  disableOneTimeCodes: op<null>()({
    method: 'POST',
    path: '/me/one-time-codes/disable',
    role: 'viewer',
    body: z.object({ password: secret, code }),
  }),
  listSessions: op<readonly OwnSession[]>()({
    method: 'GET',
    path: '/me/sessions',
    role: 'viewer',
  }),
  endSession: op<null>()({
    method: 'POST',
    path: '/me/sessions/:sessionId/end',
    role: 'viewer',
  }),
  /** All but the one that asks. */
  endOtherSessions: op<null>()({
    method: 'POST',
    path: '/me/sessions/end-others',
    role: 'viewer',
  }),
} as const;
