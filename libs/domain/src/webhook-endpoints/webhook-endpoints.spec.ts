import { at, fold, given, ids, later } from '../testing.js';
import {
  eventTypes,
  paymentEventTypeOf,
  paymentEventTypes,
  subscribes,
  type Subscription,
  subscriptions,
  type WebhookEndpointChanges,
  webhookEndpoints,
  type WebhookEndpointsCommand,
  type WebhookEndpointsEvent,
} from './webhook-endpoints.js';

const organizationId = ids.organization;
const record = (endpointId: string, subscribedEvents: readonly Subscription[] = ['payment.*']) => ({
  organizationId,
  endpointId,
  url: `https://hooks.example/${endpointId}`,
  subscribedEvents,
  label: null,
  sealedSecret: `v1.sealed-${endpointId}`,
});
const created = (
  id: string,
  subscribedEvents?: readonly Subscription[],
): WebhookEndpointsEvent => ({
  type: 'WebhookEndpointCreated',
  at,
  data: record(id, subscribedEvents),
});
const create = (
  id: string,
  subscribedEvents?: readonly Subscription[],
): WebhookEndpointsCommand => ({
  type: 'CreateWebhookEndpoint',
  at: later,
  data: record(id, subscribedEvents),
});
const updated = (endpointId: string, changes: WebhookEndpointChanges): WebhookEndpointsEvent => ({
  type: 'WebhookEndpointUpdated',
  at: later,
  data: { organizationId, endpointId, changes },
});
const update = (endpointId: string, changes: WebhookEndpointChanges): WebhookEndpointsCommand => ({
  type: 'UpdateWebhookEndpoint',
  at: later,
  data: { organizationId, endpointId, changes },
});
const deletion = { organizationId, endpointId: 'e1' };
const remove: WebhookEndpointsCommand = {
  type: 'DeleteWebhookEndpoint',
  at: later,
  data: deletion,
};
const removed: WebhookEndpointsEvent = {
  type: 'WebhookEndpointDeleted',
  at: later,
  data: deletion,
};

const five = (subscribedEvents?: readonly Subscription[]) =>
  ['e1', 'e2', 'e3', 'e4', 'e5'].map((id) => created(id, subscribedEvents));
const exceeded = 'SUBSCRIPTION_LIMIT_EXCEEDED';

describe('creating an endpoint', () => {
  it('adds an enabled one behind the existing ones', () => {
    const then = given(webhookEndpoints, created('e1')).when(create('e2', ['payment.failed']));
    then.then({
      type: 'WebhookEndpointCreated',
      at: later,
      data: record('e2', ['payment.failed']),
    });
    const { organizationId: _, ...shown } = record('e2', ['payment.failed']);
    expect(then.state().endpoints.map((endpoint) => endpoint.endpointId)).toEqual(['e1', 'e2']);
    expect(then.state().endpoints[1]).toStrictEqual({
      ...shown,
      secretSince: later,
      previousSecret: null,
      enabled: true,
      createdAt: later,
      updatedAt: later,
    });
  });

  it('makes one endpoint when it is repeated after an unknown outcome', () => {
    given(webhookEndpoints, created('e1')).when(create('e1')).thenNothing();
    given(webhookEndpoints, ...five())
      .when(create('e5'))
      .thenNothing();
  });
});

describe('the limit of five endpoints per event type', () => {
  it('lets the fifth in and refuses the sixth', () => {
    given(webhookEndpoints, ...five(['payment.failed']).slice(0, 4))
      .when(create('e5', ['payment.failed']))
      .then({ type: 'WebhookEndpointCreated', at: later, data: record('e5', ['payment.failed']) });
    given(webhookEndpoints, ...five(['payment.failed']))
      .when(create('e6', ['payment.failed']))
      .thenRefused(exceeded);
  });

  it('holds for each event type by itself', () => {
    given(webhookEndpoints, ...five(['payment.failed']))
      .when(create('e6', ['payment.completed', 'statement.generated']))
      .then({
        type: 'WebhookEndpointCreated',
        at: later,
        data: record('e6', ['payment.completed', 'statement.generated']),
      });
    given(webhookEndpoints, ...five(['payment.failed']))
      .when(create('e6', ['payment.completed', 'payment.failed']))
      .thenRefused(exceeded);
  });

  it.each(paymentEventTypes)('counts payment.* toward %s, both ways', (eventType) => {
    given(webhookEndpoints, ...five(['payment.*']))
      .when(create('e6', [eventType]))
      .thenRefused(exceeded);
    given(webhookEndpoints, ...five([eventType]))
      .when(create('e6', ['payment.*']))
      .thenRefused(exceeded);
  });

  it('does not count payment.* toward statement.generated', () => {
    given(webhookEndpoints, ...five(['payment.*']))
      .when(create('e6', ['statement.generated']))
      .then({
        type: 'WebhookEndpointCreated',
        at: later,
        data: record('e6', ['statement.generated']),
      });
    given(webhookEndpoints, ...five(['statement.generated']))
      .when(create('e6', ['statement.generated']))
      .thenRefused(exceeded);
  });

  it('counts an endpoint once that names an event and payment.*, or names it twice', () => {
    const both: Subscription[] = ['payment.*', 'payment.failed', 'payment.failed'];
    given(webhookEndpoints, ...five(both).slice(0, 4))
      .when(create('e5', both))
      .then({ type: 'WebhookEndpointCreated', at: later, data: record('e5', both) });
  });

  it('counts disabled endpoints; only deleting one frees its place', () => {
    given(webhookEndpoints, ...five(), updated('e1', { enabled: false }))
      .when(create('e6'))
      .thenRefused(exceeded);
    given(webhookEndpoints, ...five(), removed)
      .when(create('e6'))
      .then({ type: 'WebhookEndpointCreated', at: later, data: record('e6') });
  });

  it('holds on update too, and an update that stays within it passes', () => {
    const history = [...five(['payment.failed']), created('e6', ['payment.completed'])];
    for (const subscribedEvents of [['payment.failed'], ['payment.*']] as const)
      given(webhookEndpoints, ...history)
        .when(update('e6', { subscribedEvents }))
        .thenRefused(exceeded);
    given(webhookEndpoints, ...history)
      .when(update('e1', { subscribedEvents: ['payment.failed', 'payment.completed'] }))
      .then(updated('e1', { subscribedEvents: ['payment.failed', 'payment.completed'] }));
  });

  it('allows other changes when it is reached', () => {
    given(webhookEndpoints, ...five())
      .when(update('e1', { enabled: false }))
      .then(updated('e1', { enabled: false }));
  });

  it('an endpoint without subscriptions counts nowhere', () => {
    given(webhookEndpoints, ...five(), updated('e1', { subscribedEvents: [] }))
      .when(create('e6'))
      .then({ type: 'WebhookEndpointCreated', at: later, data: record('e6') });
  });
});

it('an organization has at most 500 endpoints, whatever they are subscribed to', () => {
  const most = Array.from({ length: 499 }, (_, index) => created(`e${index}`, []));
  const last = created('last', []);
  given(webhookEndpoints, ...most)
    .when(create('last', []))
    .then({ ...last, at: later });
  given(webhookEndpoints, ...most, last)
    .when(create('one more', []))
    .thenRefused(exceeded);
});

describe('updating an endpoint', () => {
  it.each<WebhookEndpointChanges>([
    { url: 'https://hooks.example/elsewhere' },
    { label: 'Ledger' },
    { enabled: false },
    { subscribedEvents: ['payment.returned', 'statement.generated'] },
    { subscribedEvents: [] },
    { url: 'https://hooks.example/elsewhere', label: 'Ledger', enabled: false },
  ])('changes only what is supplied: %j', (changes) => {
    const then = given(webhookEndpoints, created('e1'), created('e2')).when(update('e1', changes));
    then.then(updated('e1', changes));
    const before = fold(webhookEndpoints, [created('e1'), created('e2')]).endpoints;
    expect(then.state().endpoints).toStrictEqual([
      { ...before[0], ...changes, updatedAt: later },
      before[1],
    ]);
  });

  it('clears the label with null', () => {
    given(webhookEndpoints, created('e1'), updated('e1', { label: 'Ledger' }))
      .when(update('e1', { label: null }))
      .then(updated('e1', { label: null }));
  });

  it('records nothing when nothing changes', () => {
    given(webhookEndpoints, created('e1')).when(update('e1', {})).thenNothing();
    given(webhookEndpoints, created('e1'))
      .when(update('e1', { enabled: true, label: null, subscribedEvents: ['payment.*'] }))
      .thenNothing();
  });

  it('leaves supplied values that do not change out of the event', () => {
    given(webhookEndpoints, created('e1'))
      .when(update('e1', { enabled: true, label: 'Ledger' }))
      .then(updated('e1', { label: 'Ledger' }));
  });
});

describe('rotating the secret of an endpoint', () => {
  const rotate = (sealedSecret: string, overlapHours: number): WebhookEndpointsCommand => ({
    type: 'RotateWebhookEndpointSecret',
    at: later,
    data: { organizationId, endpointId: 'e1', sealedSecret, overlapHours },
  });
  const rotated = (
    sealedSecret: string,
    previousSecretEndsAt: string | null,
  ): WebhookEndpointsEvent => ({
    type: 'WebhookEndpointSecretRotated',
    at: later,
    data: { organizationId, endpointId: 'e1', sealedSecret, previousSecretEndsAt },
  });
  const dayAfter = new Date(Date.parse(later) + 24 * 3_600_000).toISOString();
  const original = record('e1').sealedSecret;

  it('keeps the old one for the overlap, and leaves other endpoints alone', () => {
    const then = given(webhookEndpoints, created('e1'), created('e2')).when(rotate('new', 24));
    then.then(rotated('new', dayAfter));
    const before = fold(webhookEndpoints, [created('e1'), created('e2')]).endpoints;
    expect(then.state().endpoints).toStrictEqual([
      {
        ...before[0],
        sealedSecret: 'new',
        secretSince: later,
        previousSecret: { sealedSecret: original, endsAt: dayAfter },
        updatedAt: later,
      },
      before[1],
    ]);
  });

  it('ends all old secrets at once when the overlap is 0', () => {
    const then = given(webhookEndpoints, created('e1'), rotated('second', dayAfter)).when(
      rotate('third', 0),
    );
    then.then(rotated('third', null));
    expect(then.state().endpoints[0]).toMatchObject({
      sealedSecret: 'third',
      previousSecret: null,
    });
  });

  it('drops the secret before the last when it rotates again during the overlap', () => {
    const then = given(webhookEndpoints, created('e1'), rotated('second', dayAfter)).when(
      rotate('third', 24),
    );
    then.then(rotated('third', dayAfter));
    expect(then.state().endpoints[0]).toMatchObject({
      sealedSecret: 'third',
      previousSecret: { sealedSecret: 'second', endsAt: dayAfter },
    });
  });

  it('rotates once when it is repeated after an unknown outcome', () => {
    given(webhookEndpoints, created('e1'), rotated('new', dayAfter))
      .when(rotate('new', 24))
      .thenNothing();
  });

  it('is refused when the endpoint does not exist', () => {
    given(webhookEndpoints, created('e2'))
      .when(rotate('new', 24))
      .thenRefused('WEBHOOK_ENDPOINT_NOT_FOUND');
  });
});

describe('deleting an endpoint', () => {
  it('leaves the others', () => {
    const then = given(webhookEndpoints, created('e1'), created('e2')).when(remove);
    then.then(removed);
    expect(then.state().endpoints.map((endpoint) => endpoint.endpointId)).toEqual(['e2']);
  });

  it('makes the domain refuse every later command on it', () => {
    const history = [created('e1'), removed];
    given(webhookEndpoints, ...history)
      .when(remove)
      .thenRefused('WEBHOOK_ENDPOINT_NOT_FOUND');
    given(webhookEndpoints, ...history)
      .when(update('e1', { enabled: false }))
      .thenRefused('WEBHOOK_ENDPOINT_NOT_FOUND');
  });
});

describe('what a subscription takes in', () => {
  it('is one event per status, named after it, statement.generated, or payment.*', () => {
    // The spec's "Event types", read beside it.
    expect(new Set(eventTypes)).toEqual(
      new Set([
        'payment.awaiting_confirmation',
        'payment.queued',
        'payment.processing',
        'payment.completed',
        'payment.failed',
        'payment.failed_in_flight',
        'payment.canceled',
        'payment.returned',
        'payment.blocked',
        'statement.generated',
      ]),
    );
    expect(paymentEventTypeOf('FAILED_IN_FLIGHT')).toBe('payment.failed_in_flight');
    expect(subscriptions).toEqual([...eventTypes, 'payment.*']);
  });

  it('payment.* takes in every payment event, and no statement', () => {
    for (const eventType of paymentEventTypes)
      expect(subscribes(['payment.*'], eventType)).toBe(true);
    expect(subscribes(['payment.*'], 'statement.generated')).toBe(false);
  });

  it('a name takes in itself, and no name that begins alike', () => {
    expect(subscribes(['payment.failed'], 'payment.failed')).toBe(true);
    expect(subscribes(['payment.failed'], 'payment.failed_in_flight')).toBe(false);
    expect(subscribes([], 'payment.failed')).toBe(false);
  });
});
