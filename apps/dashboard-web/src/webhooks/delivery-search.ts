/** The filters of deliveries, as they are in the address. The router reads them before the page is loaded. */
import type { DashboardApi } from '@pis/dashboard/api';

type Query = NonNullable<DashboardApi['listDeliveries']['query']>;
type State = NonNullable<Query['state']>;
export type EventName = NonNullable<Query['eventType']>;

export const deliveryStates = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
  canceled: 'Canceled',
} as const satisfies Record<State, string>;

/** By the names that receivers see. */
export const eventNames = {
  'payment.awaiting_confirmation': 'Awaiting confirmation',
  'payment.queued': 'Queued',
  'payment.processing': 'Processing',
  'payment.completed': 'Completed',
  'payment.returned': 'Returned',
  'payment.failed': 'Failed',
  'payment.failed_in_flight': 'Failed in flight',
  'payment.blocked': 'Blocked',
  'payment.canceled': 'Canceled',
  'statement.generated': 'Statement generated',
} as const satisfies Record<EventName, string>;

export interface DeliverySearch {
  readonly state?: State;
  readonly eventType?: EventName;
  /** Days, of UTC. */
  readonly from?: string;
  readonly to?: string;
}

const dayForm = /^\d{4}-\d{2}-\d{2}$/;

/** Of an address, whatever it says. */
export function deliverySearchOf({
  state,
  eventType,
  from,
  to,
}: Record<string, unknown>): DeliverySearch {
  return {
    ...(isKeyOf(deliveryStates, state) ? { state } : {}),
    ...(isKeyOf(eventNames, eventType) ? { eventType } : {}),
    ...(isDay(from) ? { from } : {}),
    ...(isDay(to) ? { to } : {}),
  };
}

function isKeyOf<Names extends object>(names: Names, key: unknown): key is keyof Names {
  return typeof key === 'string' && Object.hasOwn(names, key);
}

function isDay(given: unknown): given is string {
  return typeof given === 'string' && dayForm.test(given) && !Number.isNaN(Date.parse(given));
}
