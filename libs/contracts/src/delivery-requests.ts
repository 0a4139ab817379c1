/** Requests on deliveries, replays and the event feed, and the rotation of a webhook secret. */
import { eventTypes, type Subscription } from '@pis/domain';
import { z } from 'zod';
import { deliveryStates } from './delivery-view.js';
import { isObject, optional, uuid } from './fields.js';
import { instant, pastInstant } from './instant.js';
import { cursor, wholeNumber } from './party-requests.js';
import { subscriptionsSchema } from './webhook-requests.js';

const limitDefault = 20;
const limitMax = 100;
const limit = wholeNumber(1, limitMax).default(limitDefault);

const overlapHoursMax = 72;
const overlapHoursDefault = 24;

/** How long deliveries carry the signature of the old secret too; 0 ends it at once. */
export const webhookRotateSchema = z.object({
  overlapHours: z
    .number()
    .refine(Number.isInteger, 'validation_integer')
    .min(0)
    .max(overlapHoursMax)
    .meta({ type: 'integer' })
    .nullish()
    .transform((hours) => hours ?? overlapHoursDefault),
});
export type WebhookRotateRequest = z.output<typeof webhookRotateSchema>;

export const deliveryListSchema = z
  .object({
    cursor,
    limit,
    eventType: z.enum(eventTypes).optional(),
    state: z.enum(deliveryStates).optional(),
    paymentId: uuid.optional(),
    from: instant('start').optional(),
    to: instant('end').optional(),
  })
  .superRefine(reportReversed, { when: isObject });
export type DeliveryListQuery = z.output<typeof deliveryListSchema>;
/** The filters of the list. All that are given must hold. */
export type DeliveryListFilter = Omit<DeliveryListQuery, 'limit' | 'cursor'>;

/** Everything of a past time, or of some event types: by default what the endpoint subscribes to. */
export const webhookReplaySchema = z
  .object({
    from: pastInstant('start'),
    to: optional(instant('end')),
    eventTypes: optional(subscriptionsSchema.min(1)),
  })
  .superRefine(reportReversed, { when: isObject });
export type WebhookReplayRequest = {
  readonly from: string;
  readonly to: string | null;
  readonly eventTypes: readonly Subscription[] | null;
};

/** `after` is the nextCursor of the previous page. The feed itself checks it. */
export const eventListSchema = z.object({
  after: cursor,
  limit,
  eventType: z.enum(eventTypes).optional(),
  from: instant('start').optional(),
});
export type EventListQuery = z.output<typeof eventListSchema>;

/** ISO 8601 texts of one form compare as times. */
function reportReversed(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | null | undefined },
  context: z.RefinementCtx,
): void {
  if (typeof from !== 'string' || typeof to !== 'string' || from <= to) return;
  const message = 'validation_date_range';
  context.addIssue({ code: 'custom', path: ['to'], message, input: to });
}
