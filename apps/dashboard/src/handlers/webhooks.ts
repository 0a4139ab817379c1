/** Webhook endpoints: how they go, changes to them, tests and replays. */
import { randomUUID } from 'node:crypto';
import type { WebhookEndpointDirectory } from '@pis/commands';
import { webhookEndpointView, type WebhookEndpointView } from '@pis/contracts';
import type { WebhookEndpoint } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { ApiError, granted, notFound, type ServedWebhookTests, Turns } from '@pis/http-api';
import {
  type EndpointHealths,
  latestFailures,
  recentOutcomes,
  replayRequestOf,
  type ReplayRequests,
  replayView,
  runningReplaysMax,
} from '@pis/webhook-deliveries';
import { overlappingSecret } from '@pis/webhooks';
import type pg from 'pg';
import type { webhookOperations, WebhookSummary } from '../operations/webhooks.js';
import type { Handlers } from '../routes.js';
import { deliveryHandlers, type DeliveryServices, requireReceiving } from './deliveries.js';

export interface WebhookServices extends DeliveryServices {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly endpoints: WebhookEndpointDirectory;
  readonly healths: EndpointHealths;
  readonly replays: ReplayRequests;
  readonly tests: Pick<ServedWebhookTests, 'deliver'>;
}

const dayMs = 24 * 3_600_000;
/** Of an organization: the latest deliveries of each of its endpoints are counted, and others need the connections. */
const summaryTurns = { atOnceMax: 2, sizeMax: 100 } as const;
/** On the page of an endpoint. */
const replaysShownMax = 20;

export function webhookHandlers(
  services: WebhookServices,
): Handlers<keyof typeof webhookOperations> {
  return {
    ...endpointHandlers(services),
    ...replayHandlers(services),
    ...deliveryHandlers(services),
  };
}

function endpointHandlers(services: WebhookServices) {
  const { actions, endpoints, replays, tests } = services;
  const turns = new Turns(summaryTurns);
  const summaries = (organizationId: string, shown: readonly WebhookEndpoint[]) =>
    turns.take(organizationId, () => summariesOf(services, organizationId, shown));
  return {
    listWebhooks: async ({ organizationId }) =>
      summaries(organizationId, (await endpoints.list(organizationId)).toReversed()),
    async createWebhook({ organizationId, body, by }) {
      const { endpoint, secret } = granted(await endpoints.create(organizationId, body, by));
      const healthy = { health: 'healthy', failingSince: null } as const;
      return { ...webhookEndpointView(endpoint, healthy), secret };
    },
    async getWebhook({ organizationId, ids: { webhookId: endpointId } }) {
      const endpoint = granted(await endpoints.get(organizationId, endpointId));
      const [[summary], latest] = await Promise.all([
        summaries(organizationId, [endpoint]),
        replays.latest({ organizationId, endpointId }, replaysShownMax),
      ]);
      if (summary === undefined) throw notFound('webhook endpoint');
      const isOverlapping = overlappingSecret(endpoint, new Date()) !== null;
      return {
        endpoint: summary,
        previousSecretEndsAt: (isOverlapping && endpoint.previousSecret?.endsAt) || null,
        replays: latest.map(replayView),
      };
    },
    async changeWebhook({ organizationId, ids, body, by }) {
      const changed = await endpoints.update(organizationId, ids.webhookId, body, by);
      return viewOf(services, organizationId, granted(changed));
    },
    async deleteWebhook({ organizationId, ids, by }) {
      granted(await endpoints.delete(organizationId, ids.webhookId, by));
      return null;
    },
    async rotateWebhookSecret({ organizationId, ids, body, by }) {
      const rotated = await endpoints.rotateSecret(organizationId, ids.webhookId, body, by);
      const { endpoint, secret } = granted(rotated);
      const previousSecretEndsAt = endpoint.previousSecret?.endsAt ?? null;
      return {
        ...(await viewOf(services, organizationId, endpoint)),
        secret,
        previousSecretEndsAt,
      };
    },
    async testWebhook({ organizationId, user, ids: { webhookId }, body, by }) {
      const endpoint = granted(await endpoints.get(organizationId, webhookId));
      const action = { name: 'testWebhook', user, subject: { webhookId } } as const;
      return actions.run(action, by, async () =>
        granted(await tests.deliver({ organizationId }, endpoint, body)),
      );
    },
  } satisfies Handlers<
    | 'listWebhooks'
    | 'createWebhook'
    | 'getWebhook'
    | 'changeWebhook'
    | 'deleteWebhook'
    | 'rotateWebhookSecret'
    | 'testWebhook'
  >;
}

const replaysFull = () =>
  new ApiError('CONFLICT', `${runningReplaysMax} replays of this endpoint are running`);

function replayHandlers({ store, actions, endpoints, replays }: WebhookServices) {
  return {
    async replayWebhook({ organizationId, user, ids: { webhookId }, body, by }) {
      const endpoint = granted(await endpoints.get(organizationId, webhookId));
      requireReceiving(endpoint);
      if (!(await replays.hasRoom({ organizationId, endpointId: webhookId }))) throw replaysFull();
      const replayId = randomUUID();
      const request = replayRequestOf(endpoint, body, {
        id: replayId,
        organizationId,
        throughPosition: await store.lastPosition(),
        requestedAt: new Date(),
      });
      const subject = { webhookId, replayId };
      return actions.run({ name: 'replayWebhook', user, subject }, by, async () => {
        const replay = await replays.create(request);
        if (replay !== null) return replayView(replay);
        throw replaysFull();
      });
    },
    async cancelReplay({ organizationId, user, ids: { webhookId, replayId }, by }) {
      const of = { organizationId, endpointId: webhookId, replayId };
      const found = async () => {
        const replay = await replays.get(of);
        if (replay === null) throw notFound('replay');
        return replay;
      };
      if ((await found()).state === 'running') {
        const action = { name: 'cancelReplay', user, subject: { webhookId, replayId } } as const;
        await actions.run(action, by, async () =>
          (await replays.cancel(of, new Date())) ? undefined : hasEnded,
        );
      }
      return replayView(await found());
    },
  } satisfies Handlers<'replayWebhook' | 'cancelReplay'>;
}

/** It ended while the cancelation was recorded. */
const hasEnded = { refused: 'ALREADY_ENDED' } as const;

async function viewOf(
  { healths }: WebhookServices,
  organizationId: string,
  endpoint: WebhookEndpoint,
): Promise<WebhookEndpointView> {
  const failing = await healths.failing(organizationId, [endpoint.endpointId]);
  return webhookEndpointView(endpoint, healthIn(failing, endpoint));
}

async function summariesOf(
  { healths, pool }: WebhookServices,
  organizationId: string,
  shown: readonly WebhookEndpoint[],
): Promise<readonly WebhookSummary[]> {
  const ids = shown.map(({ endpointId }) => endpointId);
  const since = new Date(Date.now() - dayMs);
  const [failing, outcomes] = await Promise.all([
    healths.failing(organizationId, ids),
    recentOutcomes(pool, organizationId, ids, since),
  ]);
  const failures = await latestFailures(pool, organizationId, [...failing.keys()]);
  return shown.map((endpoint) => {
    const { endpointId } = endpoint;
    const counted = outcomes.get(endpointId);
    return {
      ...webhookEndpointView(endpoint, healthIn(failing, endpoint)),
      lastDay: counted === undefined || counted.attempted === 0 ? null : counted,
      lastFailure: failures.get(endpointId) ?? null,
    };
  });
}

function healthIn(
  failing: Awaited<ReturnType<EndpointHealths['failing']>>,
  { endpointId }: WebhookEndpoint,
) {
  const found = failing.get(endpointId);
  const failingSince = found?.failingSince.toISOString() ?? null;
  return { health: found?.health ?? 'healthy', failingSince } as const;
}
