import { at, fold, given, ids, later } from '../testing.js';
import { apiKey, type ApiKeyEvent, type ApiKeyRecord, environments, isUsable } from './api-key.js';

const record: ApiKeyRecord = {
  apiKeyId: '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1a09',
  digest: 'a'.repeat(64),
  organizationId: ids.organization,
  keyType: 'full_access',
  environment: 'sandbox',
  expiresAt: null,
};
const created = (overrides: Partial<ApiKeyRecord> = {}): ApiKeyEvent => ({
  type: 'ApiKeyCreated',
  at,
  data: { ...record, ...overrides },
});
const revoked: ApiKeyEvent = {
  type: 'ApiKeyRevoked',
  at: later,
  data: { apiKeyId: record.apiKeyId },
};
const revoke = { type: 'RevokeApiKey' as const, at: later, data: {} };

describe('an API key', () => {
  it('is created once', () => {
    const create = { type: 'CreateApiKey' as const, at: later, data: record };
    const then = given(apiKey).when(create);
    then.then({ type: 'ApiKeyCreated', at: later, data: record });
    expect(then.state()).toStrictEqual({ ...record, createdAt: later, revokedAt: null });
    given(apiKey, created()).when(create).thenRefused('API_KEY_ALREADY_EXISTS');
  });

  it('is revoked for good, and a second revocation changes nothing', () => {
    const then = given(apiKey, created()).when(revoke);
    then.then(revoked);
    expect(then.state()).toStrictEqual({ ...record, createdAt: at, revokedAt: later });
    given(apiKey, created(), revoked).when(revoke).thenNothing();
  });

  it('cannot be revoked before it is created', () => {
    given(apiKey).when(revoke).thenRefused('API_KEY_NOT_FOUND');
    expect(() => fold(apiKey, [revoked])).toThrow('first event of an API key');
  });
});

describe('whether a key opens the API', () => {
  const now = '2026-11-21T10:00:00.000Z';
  const expiries: readonly [expiresAt: string | null, live: boolean][] = [
    [null, true],
    ['2026-11-21T10:00:00.001Z', true],
    [now, false],
    ['2026-11-21T09:59:59.999Z', false],
    // The same moments with another offset, and a text that is not a time.
    ['2026-11-21T12:00:00.001+02:00', true],
    ['2026-11-21T05:00:00.000-05:00', false],
    ['tomorrow', false],
  ];
  const matrix = environments.flatMap((keyFor) =>
    environments.flatMap((asked) =>
      expiries.flatMap(([expiresAt, live]) =>
        [false, true].map((isRevoked) => ({
          keyFor,
          asked,
          expiresAt,
          isRevoked,
          usable: keyFor === asked && live && !isRevoked,
        })),
      ),
    ),
  );

  it.each(matrix)(
    'a $keyFor key, expiring $expiresAt, revoked $isRevoked, in $asked: $usable',
    ({ keyFor, asked, expiresAt, isRevoked, usable }) => {
      const key = created({ environment: keyFor, expiresAt });
      const state = fold(apiKey, isRevoked ? [key, revoked] : [key]);
      expect(isUsable(state, asked, now)).toBe(usable);
    },
  );

  it('an unknown key opens nothing', () => {
    for (const environment of environments) expect(isUsable(null, environment, now)).toBe(false);
  });
});
