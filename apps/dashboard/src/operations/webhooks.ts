/** Webhook endpoints, their deliveries and replays. */
import {
  deliveryListSchema,
  type RotatedWebhookEndpointView,
  type WebhookAttemptView,
  type WebhookDeliveryView,
  type WebhookEndpointView,
  type webhookCreateSchema,
  type webhookPatchSchema,
  webhookReplaySchema,
  type WebhookReplayView,
  webhookRotateSchema,
  webhookTestSchema,
} from '@pis/contracts';
import { z } from 'zod';
import { op } from '../operation.js';

/** An endpoint and how its deliveries go. */
export interface WebhookSummary extends WebhookEndpointView {
  /** Of the deliveries of the last 24 hours with an attempt, how many were accepted. Null without any. */
  readonly lastDay: {
    readonly attempted: number;
    readonly delivered: number;
    /** Only the latest were counted. */
    readonly isCapped: boolean;
  } | null;
  /** Of an endpoint that fails. */
  readonly lastFailure: {
    readonly deliveryId: string;
    readonly statusCode: number | null;
    readonly error: string | null;
  } | null;
}

export interface WebhookPage {
  readonly endpoint: WebhookSummary;
  /** Until when deliveries are signed with the replaced secret, too. Null when they are not. */
  readonly previousSecretEndsAt: string | null;
  /** The latest first. */
  readonly replays: readonly WebhookReplayView[];
}

export interface WebhookTestView {
  readonly success: boolean;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

export interface AttemptPage extends WebhookAttemptView {
  /** Those of the request, computed again: name and value. */
  readonly headers: readonly (readonly [string, string])[];
  /**
   * Why the signatures are not among them: the secret was replaced since the attempt or does not exist any
   * more, or the user may not see them. Null when they are.
   */
  readonly signatureMissing: 'secret_replaced' | 'endpoint_deleted' | 'not_permitted' | null;
}

export interface DeliveryPage extends WebhookDeliveryView {
  /** Null once the endpoint was deleted. */
  readonly url: string | null;
  /** The bytes of the latest attempt. Null when they are not kept any more. */
  readonly body: string | null;
  /** The oldest first. */
  readonly attempts: readonly AttemptPage[];
}

export const webhookOperations = {
  /** The newest first. */
  listWebhooks: op<readonly WebhookSummary[]>()({
    method: 'GET',
    path: '/webhooks',
    role: 'viewer',
  }),
  /** The secret is in this answer and nowhere else. The use case checks the body, with the address of the URL. */
  createWebhook: op<WebhookEndpointView & { readonly secret: string }>()({
    method: 'POST',
    path: '/webhooks',
    role: 'admin',
    body: z.custom<z.input<typeof webhookCreateSchema>>(),
  }),
  getWebhook: op<WebhookPage>()({ method: 'GET', path: '/webhooks/:webhookId', role: 'viewer' }),
  /** The use case checks the body. */
  changeWebhook: op<WebhookEndpointView>()({
    method: 'PATCH',
    path: '/webhooks/:webhookId',
    role: 'admin',
    body: z.custom<z.input<typeof webhookPatchSchema>>(),
  }),
  deleteWebhook: op<null>()({ method: 'DELETE', path: '/webhooks/:webhookId', role: 'admin' }),
  /** The new secret is in this answer and nowhere else. */
  rotateWebhookSecret: op<RotatedWebhookEndpointView>()({
    method: 'POST',
    path: '/webhooks/:webhookId/rotate-secret',
    role: 'admin',
    body: webhookRotateSchema,
  }),
  testWebhook: op<WebhookTestView>()({
    method: 'POST',
    path: '/webhooks/:webhookId/test',
    role: 'operator',
    body: webhookTestSchema,
    hasOwnTimeLimit: true,
  }),
  replayWebhook: op<WebhookReplayView>()({
    method: 'POST',
    path: '/webhooks/:webhookId/replays',
    role: 'operator',
    body: webhookReplaySchema,
  }),
  /** What was sent stays sent. */
  cancelReplay: op<WebhookReplayView>()({
    method: 'POST',
    path: '/webhooks/:webhookId/replays/:replayId/cancel',
    role: 'operator',
  }),
  listDeliveries: op<readonly WebhookDeliveryView[]>()({
    method: 'GET',
    path: '/webhooks/:webhookId/deliveries',
    role: 'viewer',
    query: deliveryListSchema,
  }),
  /** With its attempts, and the body that was sent. */
  getDelivery: op<DeliveryPage>()({
    method: 'GET',
    path: '/deliveries/:deliveryId',
    role: 'viewer',
  }),
  redeliver: op<WebhookDeliveryView>()({
    method: 'POST',
    path: '/deliveries/:deliveryId/redeliver',
    role: 'operator',
  }),
} as const;
