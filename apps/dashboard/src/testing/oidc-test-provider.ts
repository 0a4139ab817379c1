/** An OpenID provider on this machine, with real keys and signed ID tokens. */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

const algorithm = 'RS256';
const lifetimeSeconds = 300;

/** What a test makes different from a good sign-in. */
export interface Deviation {
  readonly claims?: JWTPayload;
  /** Signed with a key that the provider does not publish. */
  readonly isForged?: boolean;
  /** The address is told by the UserInfo endpoint alone. */
  readonly isInUserInfo?: boolean;
}

interface Grant extends Deviation {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly nonce: string;
  readonly email: string;
}

export interface TestProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether it answers 503 to everything. */
  isDown: boolean;
  /** Characters that it adds to everything it answers. */
  padding: number;
  /** Discoveries so far. */
  readonly discoveries: number;
  /** Who has a session at the provider: its page sends a browser back at once. Null: it has no page. */
  browserUser: string | null;
  /** What the user's browser does at the provider. The address to which it is sent back. */
  authorize(url: string, email: string, deviation?: Deviation): string;
  close(): Promise<void>;
}

type State = Pick<TestProvider, 'isDown' | 'padding' | 'browserUser'> & { discoveries: number };

export async function startTestProvider(): Promise<TestProvider> {
  const [own, foreign] = await Promise.all([
    generateKeyPair(algorithm),
    generateKeyPair(algorithm),
  ]);
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'own', alg: algorithm, use: 'sig' };
  const grants = new Map<string, Grant>();
  const emails = new Map<string, string>();
  const state: State = { isDown: false, padding: 0, discoveries: 0, browserUser: null };
  const client = { clientId: 'dashboard', clientSecret: 'a secret of the test: 100%' };

  const idToken = (grant: Grant) => {
    const told = grant.isInUserInfo === true ? {} : { email: grant.email, email_verified: true };
    const now = Math.floor(Date.now() / 1_000);
    const claims = {
      ...{ iss: issuer(), aud: client.clientId, sub: `sub of ${grant.email}` },
      ...{ iat: now, exp: now + lifetimeSeconds, nonce: grant.nonce, ...told },
    };
    return new SignJWT({ ...claims, ...grant.claims })
      .setProtectedHeader({ alg: algorithm, kid: 'own' })
      .sign((grant.isForged === true ? foreign : own).privateKey);
  };

  async function token(request: IncomingMessage): Promise<[number, unknown]> {
    const form = new URLSearchParams(await textOf(request));
    if (!isClient(request, client)) return [401, { error: 'invalid_client' }];
    const code = form.get('code') ?? '';
    const grant = grants.get(code);
    grants.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (grant?.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri'))
      return [400, { error: 'invalid_grant' }];
    const accessToken = randomBytes(16).toString('base64url');
    emails.set(accessToken, grant.email);
    const answer = { access_token: accessToken, token_type: 'Bearer', expires_in: lifetimeSeconds };
    return [200, { ...answer, id_token: await idToken(grant) }];
  }

  async function answerTo(request: IncomingMessage): Promise<[number, unknown]> {
    if (state.isDown) return [503, { error: 'server_error' }];
    switch (request.url) {
      case '/.well-known/openid-configuration':
        state.discoveries += 1;
        return [200, metadataOf(issuer())];
      case '/keys':
        return [200, { keys: [jwk] }];
      case '/token':
        return token(request);
      case '/userinfo': {
        const email = emails.get(request.headers.authorization?.slice('Bearer '.length) ?? '');
        return email === undefined
          ? [401, {}]
          : [200, { sub: `sub of ${email}`, email, email_verified: true }];
      }
      default:
        return [404, {}];
    }
  }

  /** Where the browser is sent back to. */
  function granted(url: string, email: string, deviation: Deviation = {}): URL {
    const { origin, pathname, searchParams: given } = new URL(url);
    const text = (name: string) => given.get(name) ?? '';
    expect([`${origin}${pathname}`, text('client_id'), text('response_type')]).toEqual([
      `${issuer()}/authorize`,
      client.clientId,
      'code',
    ]);
    expect([text('scope'), text('code_challenge_method')]).toEqual(['openid email', 'S256']);
    const code = randomBytes(16).toString('base64url');
    const redirectUri = text('redirect_uri');
    const challenge = text('code_challenge');
    grants.set(code, { challenge, redirectUri, nonce: text('nonce'), email, ...deviation });
    const back = new URL(redirectUri);
    back.search = new URLSearchParams({ code, state: text('state') }).toString();
    return back;
  }

  const server = createServer((request, response) => {
    const { url = '' } = request;
    if (url.startsWith('/authorize?') && state.browserUser !== null) {
      const { href } = granted(`${issuer()}${url}`, state.browserUser);
      response.writeHead(302, { Location: href, Connection: 'close' }).end();
      return;
    }
    const padding = 'x'.repeat(state.padding);
    void answerTo(request).then(([status, body]) =>
      send(response, status, padding === '' ? body : { ...(body as object), padding }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    issuer: issuer(),
    ...client,
    get isDown() {
      return state.isDown;
    },
    set isDown(isDown) {
      state.isDown = isDown;
    },
    get padding() {
      return state.padding;
    },
    set padding(padding) {
      state.padding = padding;
    },
    get browserUser() {
      return state.browserUser;
    },
    set browserUser(email) {
      state.browserUser = email;
    },
    get discoveries() {
      return state.discoveries;
    },
    authorize(url, email, deviation) {
      const { pathname, search } = granted(url, email, deviation);
      return `${pathname}${search}`;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function metadataOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [algorithm],
  };
}

/** RFC 6749, 2.3.1: both are form-encoded first. */
function isClient(
  { headers }: IncomingMessage,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
): boolean {
  const [, given = ''] = headers.authorization?.split(' ') ?? [];
  const [id = '', secret = ''] = Buffer.from(given, 'base64').toString('utf8').split(':');
  const decoded = (text: string) => new URLSearchParams(`x=${text}`).get('x');
  return decoded(id) === clientId && decoded(secret) === clientSecret;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' });
  response.end(JSON.stringify(body));
}
