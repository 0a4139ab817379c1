/** Requests on webhook endpoints (rules webhook-1 to webhook-11). Whether a URL may be called is not decided here. */
import { paymentEventTypes, type Subscription, subscriptions } from '@pis/domain';
import { z } from 'zod';
import { optional, text } from './fields.js';

const urlLengthMax = 2_000;
const labelLengthMax = 255;

const url = text(1, urlLengthMax).meta({
  format: 'uri',
  pattern: '^https://[A-Za-z0-9]',
  minLength: undefined,
  maxLength: urlLengthMax,
});
const label = text(1, labelLengthMax);
/** Names have a code of their own (rule validation-1). */
const named = <Name extends string>(names: readonly Name[]) =>
  z.enum(names, {
    error: ({ input }) => (typeof input === 'string' ? 'validation_event_type' : undefined),
  });
/** Naming an event type twice says nothing more than once. */
const unique = (names: readonly Subscription[]) => [...new Set(names)];

/** Event types and `payment.*`. */
export const subscriptionsSchema = z.array(named(subscriptions));

export const webhookCreateSchema = z.object({
  url,
  subscribedEvents: subscriptionsSchema.min(1).transform(unique),
  label: optional(label),
});
export type WebhookCreateRequest = z.output<typeof webhookCreateSchema>;

/** Only the supplied fields change; an empty subscription unsubscribes from everything. */
export const webhookPatchSchema = z.object({
  url: url.optional(),
  subscribedEvents: subscriptionsSchema.transform(unique).optional(),
  label: label.nullable().optional(),
  enabled: z.boolean().optional(),
});
export type WebhookPatchRequest = z.output<typeof webhookPatchSchema>;

/** `{}` asks for a TEST event; `payment.*` and `statement.generated` cannot be asked for (rule webhook-test-4). */
export const webhookTestSchema = z.object({
  eventType: optional(named(paymentEventTypes)),
});
export type WebhookTestRequest = z.output<typeof webhookTestSchema>;
