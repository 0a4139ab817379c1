/**
 * Signing in with an OpenID provider: authorization code with PKCE, state and nonce.
 *
 * What always holds: the provider's metadata is read when the first user needs it, and again after a failure and
 * after an hour. Each answer is bounded in time and in size. So a provider that is down stops neither the start of the service nor sign-in by password. An
 * ID token counts only with a signature of the provider's own keys.
 */
import { emailSchema, validate } from '@pis/contracts';
import type { ClientAuth, Configuration } from 'openid-client';
import { AnswerTooLong, boundedFetch } from './bounded-fetch.js';
import type { OidcSettings } from './oidc-settings.js';

/** What is kept of a sign-in that has begun, in the browser that began it. */
export interface OidcAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The provider cannot be reached, or answers with nothing that can be used. It may be tried again. */
export class OidcUnavailable extends Error {
  override readonly name = 'OidcUnavailable';
}

/** The sign-in is not good. The message has no personal data. */
export class OidcRefused extends Error {
  override readonly name = 'OidcRefused';
}

export const callbackPath = '/dashboard/oidc/callback';
const timeoutSeconds = 5;
const metadataAgeMaxMs = 3_600_000;
/** Of clocks that differ. */
const clockToleranceSeconds = 30;
const scope = 'openid email';

/** Loaded for the first user who needs it. */
const library = () => import('openid-client');

interface Known {
  readonly configuration: Configuration;
  readonly atMs: number;
}

export class OidcProvider {
  private known: Known | null = null;
  private discovering: Promise<Configuration> | null = null;

  constructor(private readonly settings: OidcSettings) {}

  get redirectUri(): string {
    return new URL(callbackPath, this.settings.publicUrl).href;
  }

  /** Where to send the browser, and what to keep of it. @throws OidcUnavailable */
  async begin(): Promise<{ readonly url: string; readonly attempt: OidcAttempt }> {
    const client = await library();
    const configuration = await this.configuration();
    const attempt = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      codeVerifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      ...{ redirect_uri: this.redirectUri, scope },
      ...{ state: attempt.state, nonce: attempt.nonce },
      code_challenge: await client.calculatePKCECodeChallenge(attempt.codeVerifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, attempt };
  }

  /**
   * The e-mail address that the provider has verified.
   * @param query of the request with which the browser came back
   * @throws OidcUnavailable, OidcRefused
   */
  async finish(query: string, attempt: OidcAttempt): Promise<string> {
    const client = await library();
    const configuration = await this.configuration();
    const url = new URL(this.redirectUri);
    url.search = query;
    try {
      const tokens = await client.authorizationCodeGrant(configuration, url, {
        ...{ expectedState: attempt.state, expectedNonce: attempt.nonce },
        ...{ pkceCodeVerifier: attempt.codeVerifier, idTokenExpected: true },
      });
      const token = tokens.claims();
      if (token === undefined) throw new OidcRefused('there is no ID token');
      // Many providers tell the address only to those who ask.
      const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
      return verifiedEmailIn(
        token.email === undefined && hasUserInfo
          ? await client.fetchUserInfo(configuration, tokens.access_token, token.sub)
          : token,
      );
    } catch (error) {
      if (error instanceof OidcRefused) throw error;
      if (isOutage(error)) throw new OidcUnavailable(codeOf(error));
      throw new OidcRefused(codeOf(error));
    }
  }

  private async configuration(): Promise<Configuration> {
    const { known } = this;
    if (known !== null && performance.now() - known.atMs < metadataAgeMaxMs)
      return known.configuration;
    this.discovering ??= this.discover().finally(() => (this.discovering = null));
    try {
      return await this.discovering;
    } catch (error) {
      // Better old than none.
      if (known !== null) return known.configuration;
      throw new OidcUnavailable(codeOf(error));
    }
  }

  private async discover(): Promise<Configuration> {
    const client = await library();
    const { issuer, clientId, clientSecret } = this.settings;
    const isPlain = new URL(issuer).protocol === 'http:';
    const [basic, post] = [
      client.ClientSecretBasic(clientSecret),
      client.ClientSecretPost(clientSecret),
    ];
    // The standard's default is Basic.
    const authentication: ClientAuth = (server, ...rest) => {
      const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      return (supported.includes('client_secret_basic') ? basic : post)(server, ...rest);
    };
    const configuration = await client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: clockToleranceSeconds },
      authentication,
      {
        timeout: timeoutSeconds,
        [client.customFetch]: boundedFetch,
        execute: [
          client.enableNonRepudiationChecks,
          ...(isPlain ? [client.allowInsecureRequests] : []),
        ],
      },
    );
    this.known = { configuration, atMs: performance.now() };
    return configuration;
  }
}

/** @throws OidcRefused */
function verifiedEmailIn({
  email,
  email_verified: isVerified,
}: Readonly<Record<string, unknown>>): string {
  if (typeof email !== 'string') throw new OidcRefused('the provider tells no e-mail address');
  if (isVerified !== true) throw new OidcRefused('the e-mail address is not verified');
  // Some letters of other scripts become ASCII letters in lower case: such an address is another person's.
  const checked = validate(emailSchema, email);
  if (!checked.ok) throw new OidcRefused('the e-mail address is in no accepted form');
  return checked.value;
}

const serverErrorMin = 500;

/** Whether the network or the provider failed, rather than the sign-in. */
function isOutage(error: unknown): boolean {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  if ([error, cause].some((one) => one instanceof AnswerTooLong)) return true;
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT') return true;
  // The status of the provider's answer.
  for (const one of [error, cause])
    if (Number((one as { readonly status?: unknown } | undefined)?.status) >= serverErrorMin)
      return true;
  // What fetch throws without an answer.
  return error instanceof TypeError && cause instanceof Error;
}

/** Errors of the library carry tokens in their causes: only codes go into the log. */
function codeOf(error: unknown): string {
  const { code, error: given, name } = error as { code?: unknown; error?: unknown; name?: unknown };
  return [code, given, name].find((one) => typeof one === 'string') ?? 'unknown error';
}
