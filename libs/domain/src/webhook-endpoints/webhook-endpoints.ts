/**
 * Webhook endpoints of one organization. One aggregate for all of them, so that the limit of five
 * endpoints per event type holds under concurrent requests.
 * Reads top-down: event types, events, state, evolve, commands, decide.
 */
import {
  type Aggregate,
  type Decision,
  type DomainCommand,
  type DomainEvent,
  unreachable,
} from '../decider.js';
import { effectiveChanges } from '../party.js';
import { type PaymentStatus, paymentStatuses } from '../payment/payment.js';

export type PaymentEventType = `payment.${Lowercase<PaymentStatus>}`;

/** One per status, in the order of the statuses (rules event-type-1 to event-type-9). */
export const paymentEventTypes = paymentStatuses.map(paymentEventTypeOf);
export const eventTypes = [...paymentEventTypes, 'statement.generated'] as const;
export type EventType = PaymentEventType | 'statement.generated';

type CategoryIn<Name extends string> = Name extends `${infer In}.${string}` ? In : never;
/** What the name of an event begins with. */
export type EventCategory = CategoryIn<EventType>;

/** The subscription to all events of a category; null where there is none. */
const wholeCategories = {
  payment: 'payment.*',
  statement: null,
} as const satisfies Record<EventCategory, string | null>;
type WholeCategory = NonNullable<(typeof wholeCategories)[EventCategory]>;

export type Subscription = EventType | WholeCategory;
export const subscriptions: readonly Subscription[] = [
  ...eventTypes,
  ...Object.values(wholeCategories).filter((whole) => whole !== null),
];

const eventCategories = Object.keys(wholeCategories) as readonly EventCategory[];

/** Null for a test event, and for an event of a newer release. */
export function eventCategoryOf(eventType: string): EventCategory | null {
  return eventCategories.find((category) => eventType.startsWith(`${category}.`)) ?? null;
}

export function paymentEventTypeOf(status: PaymentStatus): PaymentEventType {
  return `payment.${status.toLowerCase() as Lowercase<PaymentStatus>}`;
}

/** Whether `subscribedEvents` takes in `eventType`. */
export function subscribes(
  subscribedEvents: readonly Subscription[],
  eventType: EventType,
): boolean {
  if (subscribedEvents.includes(eventType)) return true;
  const category = eventCategoryOf(eventType);
  const whole = category === null ? null : wholeCategories[category];
  return whole !== null && subscribedEvents.includes(whole);
}

export interface WebhookEndpointRecord {
  readonly endpointId: string;
  readonly url: string;
  readonly subscribedEvents: readonly Subscription[];
  readonly label: string | null;
  /** The signing secret, sealed by keyring. */
  readonly sealedSecret: string;
}

export interface WebhookEndpointChanges {
  readonly url?: string;
  readonly subscribedEvents?: readonly Subscription[];
  readonly label?: string | null;
  readonly enabled?: boolean;
}

export type WebhookEndpointsEvent =
  | DomainEvent<
      'WebhookEndpointCreated',
      WebhookEndpointRecord & { readonly organizationId: string }
    >
  | DomainEvent<
      'WebhookEndpointUpdated',
      {
        readonly organizationId: string;
        readonly endpointId: string;
        readonly changes: WebhookEndpointChanges;
      }
    >
  | DomainEvent<
      'WebhookEndpointSecretRotated',
      {
        readonly organizationId: string;
        readonly endpointId: string;
        readonly sealedSecret: string;
        /** ISO 8601; null when the secret before it ended at once. */
        readonly previousSecretEndsAt: string | null;
      }
    >
  | DomainEvent<
      'WebhookEndpointDeleted',
      { readonly organizationId: string; readonly endpointId: string }
    >;

/** The secret before the last rotation: deliveries are signed with it too, until it ends. */
export interface PreviousSecret {
  readonly sealedSecret: string;
  /** ISO 8601. */
  readonly endsAt: string;
}

export interface WebhookEndpoint extends WebhookEndpointRecord {
  /** When the current secret was made, ISO 8601. */
  readonly secretSince: string;
  readonly previousSecret: PreviousSecret | null;
  readonly enabled: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** In the order of creation. */
export interface WebhookEndpointsState {
  readonly endpoints: readonly WebhookEndpoint[];
}

function evolve(state: WebhookEndpointsState, event: WebhookEndpointsEvent): WebhookEndpointsState {
  switch (event.type) {
    case 'WebhookEndpointCreated': {
      const { organizationId: _, ...record } = event.data;
      const times = { createdAt: event.at, updatedAt: event.at };
      const secret = { secretSince: event.at, previousSecret: null };
      const endpoint = { ...record, ...secret, enabled: true, ...times };
      return { endpoints: [...state.endpoints, endpoint] };
    }
    case 'WebhookEndpointUpdated':
      return {
        endpoints: state.endpoints.map((endpoint) =>
          endpoint.endpointId === event.data.endpointId
            ? { ...endpoint, ...event.data.changes, updatedAt: event.at }
            : endpoint,
        ),
      };
    case 'WebhookEndpointSecretRotated':
      return {
        endpoints: state.endpoints.map((endpoint) =>
          endpoint.endpointId === event.data.endpointId ? rotated(endpoint, event) : endpoint,
        ),
      };
    case 'WebhookEndpointDeleted':
      return {
        endpoints: state.endpoints.filter((e) => e.endpointId !== event.data.endpointId),
      };
    default:
      return unreachable(event);
  }
}

/** A rotation during an overlap drops the secret before the last one. */
function rotated(
  endpoint: WebhookEndpoint,
  { at, data }: Extract<WebhookEndpointsEvent, { type: 'WebhookEndpointSecretRotated' }>,
): WebhookEndpoint {
  const { sealedSecret, previousSecretEndsAt: endsAt } = data;
  const previousSecret = endsAt === null ? null : { sealedSecret: endpoint.sealedSecret, endsAt };
  return { ...endpoint, sealedSecret, secretSince: at, previousSecret, updatedAt: at };
}

export type WebhookEndpointsCommand =
  | DomainCommand<
      'CreateWebhookEndpoint',
      WebhookEndpointRecord & { readonly organizationId: string }
    >
  | DomainCommand<
      'UpdateWebhookEndpoint',
      {
        readonly organizationId: string;
        readonly endpointId: string;
        readonly changes: WebhookEndpointChanges;
      }
    >
  | DomainCommand<
      'RotateWebhookEndpointSecret',
      {
        readonly organizationId: string;
        readonly endpointId: string;
        readonly sealedSecret: string;
        /** How long deliveries are also signed with the previous secret. 0 ends that at once. */
        readonly overlapHours: number;
      }
    >
  | DomainCommand<
      'DeleteWebhookEndpoint',
      { readonly organizationId: string; readonly endpointId: string }
    >;

export type WebhookEndpointsRefusal = 'WEBHOOK_ENDPOINT_NOT_FOUND' | 'SUBSCRIPTION_LIMIT_EXCEEDED';

/** Endpoints an organization may have per event type; disabled ones count (rule limit-6). */
const endpointsPerEventTypeMax = 5;

/** Endpoints an organization may have, including those without subscriptions. */
export const endpointsMax = 500;

function exceedsLimit(endpoints: readonly Pick<WebhookEndpoint, 'subscribedEvents'>[]): boolean {
  return eventTypes.some(
    (eventType) =>
      endpoints.filter((e) => subscribes(e.subscribedEvents, eventType)).length >
      endpointsPerEventTypeMax,
  );
}

function decide(
  command: WebhookEndpointsCommand,
  state: WebhookEndpointsState,
): Decision<WebhookEndpointsEvent, WebhookEndpointsRefusal> {
  const { at } = command;
  const { organizationId, endpointId } = command.data;
  const endpoint = state.endpoints.find((e) => e.endpointId === endpointId);
  if (command.type === 'CreateWebhookEndpoint') {
    // Repeated after an append with an unknown outcome: the endpoint exists already.
    if (endpoint) return [];
    const isFull = state.endpoints.length >= endpointsMax;
    return isFull || exceedsLimit([...state.endpoints, command.data])
      ? { refused: 'SUBSCRIPTION_LIMIT_EXCEEDED' }
      : [{ type: 'WebhookEndpointCreated', at, data: command.data }];
  }
  if (!endpoint) return { refused: 'WEBHOOK_ENDPOINT_NOT_FOUND' };
  switch (command.type) {
    case 'UpdateWebhookEndpoint': {
      const changes = effectiveChanges(endpoint, command.data.changes);
      if (Object.keys(changes).length === 0) return [];
      const others = state.endpoints.filter((e) => e !== endpoint);
      if (changes.subscribedEvents && exceedsLimit([...others, { ...endpoint, ...changes }]))
        return { refused: 'SUBSCRIPTION_LIMIT_EXCEEDED' };
      return [
        { type: 'WebhookEndpointUpdated', at, data: { organizationId, endpointId, changes } },
      ];
    }
    case 'RotateWebhookEndpointSecret': {
      const { sealedSecret, overlapHours } = command.data;
      // Repeated after an append with an unknown outcome: the secret is current already.
      if (endpoint.sealedSecret === sealedSecret) return [];
      const previousSecretEndsAt = overlapHours === 0 ? null : hoursAfter(at, overlapHours);
      const data = { organizationId, endpointId, sealedSecret, previousSecretEndsAt };
      return [{ type: 'WebhookEndpointSecretRotated', at, data }];
    }
    case 'DeleteWebhookEndpoint':
      return [{ type: 'WebhookEndpointDeleted', at, data: { organizationId, endpointId } }];
    default:
      return unreachable(command);
  }
}

const hourMs = 3_600_000;

function hoursAfter(at: string, hours: number): string {
  return new Date(Date.parse(at) + hours * hourMs).toISOString();
}

export const webhookEndpoints: Aggregate<
  WebhookEndpointsState,
  WebhookEndpointsCommand,
  WebhookEndpointsEvent,
  WebhookEndpointsRefusal
> = {
  category: 'webhookEndpoints',
  initial: { endpoints: [] },
  decide,
  evolve,
  stateVersion: 2,
  schemaVersions: {
    // 2: the key of the sealed secret is in the table data_keys. Version 1 has it in the text.
    WebhookEndpointCreated: 2,
    WebhookEndpointUpdated: 1,
    WebhookEndpointSecretRotated: 2,
    WebhookEndpointDeleted: 1,
  },
};
