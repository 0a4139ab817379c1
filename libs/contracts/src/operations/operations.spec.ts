import { apiKeyTypes } from '@pis/domain';
import { operations } from './operations.js';

describe('the declared operations', () => {
  it.each(operations.map((one) => [one.operationId, one] as const))(
    '%s admits the keys that the reference promises',
    (_name, { access, method, path }) => {
      const isWebhooks = path.startsWith('/v1/webhooks');
      const expected = {
        full_access: true,
        read_only: method === 'GET',
        webhook_admin: isWebhooks,
      };
      expect(Object.fromEntries(apiKeyTypes.map((type) => [type, access.includes(type)]))).toEqual(
        expected,
      );
    },
  );

  it.each(operations.map((one) => [one.operationId, one] as const))(
    '%s has one answer, and declares the ids of its path in their order',
    (_name, { answers, ids = [], path }) => {
      expect(Object.keys(answers)).toHaveLength(1);
      expect(ids.map(({ name }) => name)).toEqual(
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      );
    },
  );
});
