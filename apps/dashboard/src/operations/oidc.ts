/** Signing in with an OpenID provider. The provider sends the browser back to a path of its own (oidc-sign-in.ts). */
import { z } from 'zod';
import { op } from '../operation.js';

export interface SignInOptions {
  /** Null without a provider. */
  readonly oidc: { readonly name: string } | null;
}

const nextLengthMax = 1_024;

export const oidcOperations = {
  signInOptions: op<SignInOptions>()({ method: 'GET', path: '/sign-in', role: 'anyone' }),
  /** The provider's address, to send the browser to. */
  beginOidc: op<{ url: string }>()({
    method: 'POST',
    path: '/sign-in/oidc',
    role: 'anyone',
    body: z.object({ next: z.string().max(nextLengthMax).nullish() }),
  }),
} as const;
