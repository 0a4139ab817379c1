import { apiKeyTypes } from '@pis/domain';
import * as deliveries from './deliveries.js';
import { operations } from './operations.js';
import * as parties from './parties.js';
import * as payments from './payments.js';
import * as rails from './rails.js';
import * as statements from './statements.js';
import * as webhooks from './webhooks.js';

describe('the declared operations', () => {
  it('are all in the reference', () => {
    const files = [parties, payments, rails, webhooks, deliveries, statements];
    const declared = files.flatMap((file) => Object.values(file));
    expect(declared.filter((one) => !operations.includes(one))).toEqual([]);
  });

  it.each(operations.map((one) => [one.operationId, one] as const))(
    '%s admits the keys that the reference promises',
    (_name, { access, method, path }) => {
      const isWebhooks = path.startsWith('/v1/webhooks');
      const expected = {
        full_access: true,
        // Evaluating rails creates nothing.
        read_only: method === 'GET' || path === '/v1/rails/evaluate',
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
