import { paymentEventTypes, subscriptions } from '@pis/domain';
import { contactCreateSchema } from './party-requests.js';
import { paymentListSchema } from './payment-requests.js';
import { problem, validate, validationCodes } from './validation.js';
import { webhookCreateSchema, webhookTestSchema } from './webhook-requests.js';

const messageOf = (schema: Parameters<typeof validate>[0], input: unknown, field: string) => {
  const result = validate(schema, input);
  const problems = result.ok ? [] : result.problems;
  return problems.find((found) => found.field === field)?.message;
};

describe('the message about a wrong field', () => {
  it('is a sentence that begins with the field, whatever the rule', () => {
    const sentence = /^field (is|is not|has|must|must not|names|exceeds) \w/;
    for (const code of validationCodes)
      expect([code, problem('field', code).message]).toEqual([
        code,
        expect.stringMatching(sentence),
      ]);
  });

  it('says that a missing field is required, not which values it may have', () => {
    for (const given of [{}, { entityType: null }])
      expect(messageOf(contactCreateSchema, given, 'entityType')).toBe('entityType is required');
    expect(messageOf(contactCreateSchema, { entityType: 'CLUB' }, 'entityType')).toBe(
      'entityType must be one of INDIVIDUAL, BUSINESS',
    );
  });

  it('counts characters of a text and entries of a list', () => {
    const endpoint = { url: 'x'.repeat(2_001), subscribedEvents: [], label: '' };
    expect(messageOf(webhookCreateSchema, endpoint, 'url')).toBe(
      'url must have at most 2000 characters',
    );
    expect(messageOf(webhookCreateSchema, endpoint, 'label')).toBe(
      'label must have at least 1 character',
    );
    expect(messageOf(webhookCreateSchema, endpoint, 'subscribedEvents')).toBe(
      'subscribedEvents must have at least 1 entry',
    );
  });

  it('says that a repeated parameter must be given once', () => {
    const twice = { limit: ['5', '5'], status: ['QUEUED', 'FAILED'], createdFrom: ['a', 'b'] };
    for (const field of Object.keys(twice))
      expect(messageOf(paymentListSchema, twice, field)).toBe(
        `${field} must be given once, as a single value`,
      );
    expect(messageOf(paymentListSchema, [], '')).toBe('the body has the wrong type');
  });

  it('lists the event types that the request may name', () => {
    const tested = { eventType: 'statement.generated' };
    expect(messageOf(webhookTestSchema, tested, 'eventType')).toBe(
      `eventType must be one of ${paymentEventTypes.join(', ')}`,
    );
    const subscribed = { url: 'https://example.com', subscribedEvents: ['*'] };
    expect(messageOf(webhookCreateSchema, subscribed, 'subscribedEvents.0')).toBe(
      `subscribedEvents.0 must be one of ${subscriptions.join(', ')}`,
    );
  });

  it.each([['101'], ['9'.repeat(16)], ['9'.repeat(400)]])(
    'says that a limit of %s is too large, not that it is not a whole number',
    (limit) => {
      const result = validate(paymentListSchema, { limit });
      expect(result.ok ? [] : result.problems.map(({ issue }) => issue)).toEqual([
        'validation_max',
      ]);
    },
  );
});
