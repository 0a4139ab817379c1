import { until } from '@pis/local-servers/testing';
import { type Answer, call, expectError } from '../support/http.js';
import { operations, withBody } from '../support/operations.js';
import { foreignUrl, itOnOwn, itWithKeys, target } from '../support/target.js';
import {
  contactBody,
  createContact,
  createEndpoint,
  createPayment,
  deleteEndpoint,
  originatorId,
} from '../support/things.js';

const isWebhooks = ([, path]: readonly [string, string]) => path.startsWith('/v1/webhooks');
const isRead = ([method]: readonly [string, string]) => method === 'GET';

const withAuthorization = (authorization: string | null, path = '/v1/originators/') =>
  call('GET', path, { as: null, headers: authorization === null ? {} : { authorization } });

/** The expiry of the key may be some seconds ahead, and its revocation as new. */
const onceRefused = (answer: () => Promise<Answer>) =>
  until(
    async () => {
      const got = await answer();
      return got.status === 401 ? got : null;
    },
    { timeoutMs: 20_000 },
  );

describe('Authentication', () => {
  it('authentication-1 takes the key as Authorization: Bearer', async () => {
    const key = await target().key('full_access');
    expect((await withAuthorization(`Bearer ${key}`)).status).toBe(200);
    for (const wrong of [key, `Basic ${key}`, `Token ${key}`, `Bearer${key}`])
      expectError(await withAuthorization(wrong), 401, 'UNAUTHORIZED');
    const query = `/v1/originators/?api_key=${key}&access_token=${key}`;
    expectError(await withAuthorization(null, query), 401, 'UNAUTHORIZED');
  });

  itWithKeys(
    'authentication-2 answers 401 to a missing, invalid, expired or revoked key, everywhere',
    ['expired', 'revoked'],
    async () => {
      for (const [method, path] of operations) {
        const missing = await call(method, path, { as: null, ...withBody(method) });
        expectError(missing, 401, 'UNAUTHORIZED');
      }
      const key = await target().key('full_access');
      const invalid = ['', 'pis_test_', `${key}x`, key.slice(0, -1), key.toUpperCase(), '\u00e4'];
      for (const wrong of invalid)
        expectError(await withAuthorization(`Bearer ${wrong}`), 401, 'UNAUTHORIZED');
      for (const as of ['expired', 'revoked'] as const)
        expectError(
          await onceRefused(() => call('GET', '/v1/originators/', { as })),
          401,
          'UNAUTHORIZED',
        );
    },
  );

  itWithKeys(
    'authentication-3 answers 403 to a key whose type may not',
    ['read_only', 'webhook_admin'],
    async () => {
      const answerOf = (as: 'read_only' | 'webhook_admin', method: string, path: string) =>
        call(method, path, { as, ...withBody(method) });
      for (const endpoint of operations) {
        if (!isRead(endpoint))
          expectError(await answerOf('read_only', ...endpoint), 403, 'FORBIDDEN');
        if (!isWebhooks(endpoint))
          expectError(await answerOf('webhook_admin', ...endpoint), 403, 'FORBIDDEN');
      }
    },
  );

  it('authentication-4 gives sandbox keys the prefix pis_test_', async () => {
    expect(await target().key('full_access')).toMatch(/^pis_test_/);
    const live = `Bearer pis_live_${(await target().key('full_access')).slice('pis_test_'.length)}`;
    expectError(await withAuthorization(live), 401, 'UNAUTHORIZED');
  });

  itWithKeys(
    'authentication-5 keeps organizations apart: records of another one are not found',
    ['other_organization'],
    async () => {
      const as = 'other_organization';
      const paymentId = await createPayment();
      const contactId = await createContact();
      const originator = await originatorId();
      const { id } = await createEndpoint();
      const foreign: readonly (readonly [string, string])[] = [
        ['GET', `/v1/payments/${paymentId}`],
        ['PATCH', `/v1/contacts/${contactId}`],
        ['PATCH', `/v1/originators/${originator}`],
        ['GET', `/v1/webhooks/${id}`],
        ['PATCH', `/v1/webhooks/${id}`],
        ['DELETE', `/v1/webhooks/${id}`],
        ['POST', `/v1/webhooks/${id}/test`],
      ];
      for (const [method, path] of foreign)
        expectError(await call(method, path, { as, ...withBody(method) }), 404, 'NOT_FOUND');
      const body = await contactBody();
      expectError(await call('POST', '/v1/contacts/', { as, body }), 404, 'NOT_FOUND');
      for (const path of ['/v1/payments/?limit=100', '/v1/contacts/', '/v1/webhooks']) {
        const { text } = await call('GET', path, { as });
        for (const mine of [paymentId, contactId, originator, id]) expect(text).not.toContain(mine);
      }
      await deleteEndpoint(id);
    },
  );

  it('authentication-7 does not take the secret of an endpoint for a key', async () => {
    const { id, secret } = await createEndpoint();
    for (const wrong of [secret, `pis_test_${secret}`])
      expectError(await withAuthorization(`Bearer ${wrong}`), 401, 'UNAUTHORIZED');
    await deleteEndpoint(id);
  });
});

describe('Keys', () => {
  it('key-1 has keys of 32 random bytes in base64url behind the prefix', async () => {
    const key = await target().key('full_access');
    // Who started the system may have chosen a key for it.
    if (foreignUrl === undefined) expect(key).toMatch(/^pis_test_[A-Za-z0-9_-]{43}$/);
    else expect(key).toMatch(/^pis_test_/);
  });

  itWithKeys(
    'key-2 lets full_access do everything, read_only read, webhook_admin work on webhooks',
    ['read_only', 'webhook_admin'],
    async () => {
      const refused = async (as: 'full_access' | 'read_only' | 'webhook_admin') => {
        const which: string[] = [];
        for (const [method, path] of operations) {
          const { status } = await call(method, path, { as, ...withBody(method) });
          expect([200, 400, 403, 404]).toContain(status);
          if (status === 403) which.push(`${method} ${path}`);
        }
        return which;
      };
      const named = (list: typeof operations) => list.map((each) => each.join(' '));
      expect(await refused('full_access')).toEqual([]);
      expect(await refused('read_only')).toEqual(named(operations.filter((e) => !isRead(e))));
      expect(await refused('webhook_admin')).toEqual(
        named(operations.filter((e) => !isWebhooks(e))),
      );
    },
  );

  itOnOwn('key-3 refuses a key within 5 s of its revocation or expiry', async () => {
    const { operator, organizationId } = target();
    const create = (...more: string[]) =>
      operator<{ apiKey: string; apiKeyId: string }>(
        ...['api-key', 'create', '--organization', organizationId, '--type', 'read_only', ...more],
      );
    /** When the last request was sent that the key was good for. */
    const lastAcceptedMs = async (key: string) => {
      let acceptedMs = 0;
      await until(
        async () => {
          const sentMs = Date.now();
          const { status } = await withAuthorization(`Bearer ${key}`);
          if (status === 200) acceptedMs = sentMs;
          return status === 401;
        },
        { timeoutMs: 60_000 },
      );
      return acceptedMs;
    };
    const expiry = async () => {
      const expiresAtMs = Date.now() + 30_000;
      const { apiKey } = await create('--expires-at', new Date(expiresAtMs).toISOString());
      const acceptedMs = await lastAcceptedMs(apiKey);
      expect(acceptedMs).toBeGreaterThan(0);
      expect(acceptedMs - expiresAtMs).toBeLessThan(5_000);
    };
    const revocation = async () => {
      const { apiKey, apiKeyId } = await create();
      expect((await withAuthorization(`Bearer ${apiKey}`)).status).toBe(200);
      const refused = lastAcceptedMs(apiKey);
      await operator('api-key', 'revoke', '--id', apiKeyId);
      const revokedAtMs = Date.now();
      expect((await refused) - revokedAtMs).toBeLessThan(5_000);
    };
    await Promise.all([expiry(), revocation()]);
  });
});
