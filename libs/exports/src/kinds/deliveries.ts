/** Webhook deliveries as their list shows them, endpoint by endpoint. */
import type { WebhookDeliveryView } from '@pis/contracts';
import { orUnavailable } from '@pis/read-models';
import {
  countDeliveries,
  type DeliveryPagePlace,
  deliveryView,
  readDeliveries,
} from '@pis/webhook-deliveries';
import type pg from 'pg';
import type { ExportRecord } from '../export-table.js';
import { boundsOf, type ExportedTable } from './table.js';

/** A new field of the API does not compile until it is here. */
const columns = {
  deliveryId: true,
  webhookId: true,
  eventId: true,
  eventType: true,
  paymentId: true,
  occurredAt: true,
  state: true,
  replayed: true,
  attemptCount: true,
  createdAt: true,
  nextAttemptAt: true,
  finishedAt: true,
  finishedReason: true,
  lastStatusCode: true,
  lastError: true,
} as const satisfies Record<keyof WebhookDeliveryView, true>;
const fields = Object.keys(columns) as readonly (keyof WebhookDeliveryView)[];

export function exportedDeliveries(pool: pg.Pool): ExportedTable<WebhookDeliveryView> {
  return {
    header: fields,
    valuesOf: (item) =>
      fields.map((field) => {
        const value = item[field];
        return typeof value === 'boolean' ? String(value) : value;
      }),
    shownAs: (item) => item,
    async page(asked, cursor, limit) {
      const after = cursor === null ? null : (JSON.parse(cursor) as DeliveryPagePlace);
      const read = await orUnavailable(() => readDeliveries(pool, rangeOf(asked), after, limit));
      const wanted = read.items.filter(
        ({ originatorId }) => asked.originatorId === null || originatorId === asked.originatorId,
      );
      return { items: wanted.map(deliveryView), next: read.next && JSON.stringify(read.next) };
    },
    count: (asked) => orUnavailable(() => countDeliveries(pool, rangeOf(asked))),
  };
}

function rangeOf(asked: ExportRecord) {
  return { organizationId: asked.organizationId, ...boundsOf(asked) };
}
