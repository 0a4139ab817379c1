/** Replays send past events to an endpoint again. This controller requests them. The dispatcher does the work. */
import { randomUUID } from 'node:crypto';
import { Controller, Inject } from '@nestjs/common';
import { WebhookEndpointDirectory } from '@pis/commands';
import {
  getWebhookReplay,
  replayWebhook,
  type WebhookReplayRequest,
  type WebhookReplayView,
} from '@pis/contracts';
import { eventTypes, subscribes } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import {
  type Answer,
  answer,
  ApiError,
  Body,
  Caller,
  granted,
  Id,
  notFound,
  Operation,
} from '@pis/http-api';
import { EVENT_STORE } from '@pis/service-kit';
import { type ReplayRecord, type ReplayRequests, runningReplaysMax } from '@pis/webhook-deliveries';
import { REPLAY_REQUESTS } from './tokens.js';
import { checkReceives } from './webhook-deliveries.controller.js';

@Controller()
export class WebhookReplaysController {
  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(REPLAY_REQUESTS) private readonly replays: ReplayRequests,
    @Inject(WebhookEndpointDirectory) private readonly endpoints: WebhookEndpointDirectory,
  ) {}

  @Operation(replayWebhook)
  async begin(
    @Caller() { organizationId }: Caller,
    @Id('id') endpointId: string,
    @Body() asked: WebhookReplayRequest,
  ): Promise<Answer<WebhookReplayView>> {
    const endpoint = granted(await this.endpoints.get(organizationId, endpointId));
    checkReceives(endpoint);

    const requestedAt = new Date();
    const wanted = asked.eventTypes ?? endpoint.subscribedEvents;
    const replay = await this.replays.create({
      id: randomUUID(),
      organizationId,
      endpointId,
      fromAt: new Date(asked.from),
      toAt: earlier(requestedAt, asked.to),
      eventTypes: eventTypes.filter((eventType) => subscribes(wanted, eventType)),
      throughPosition: await this.store.lastPosition(),
      requestedAt,
    });
    if (replay === null)
      throw new ApiError('CONFLICT', `${runningReplaysMax} replays of this endpoint are running`);
    return answer(replayView(replay));
  }

  @Operation(getWebhookReplay)
  async get(
    @Caller() { organizationId }: Caller,
    @Id('id') endpointId: string,
    @Id('replayId') replayId: string,
  ): Promise<Answer<WebhookReplayView>> {
    const replay = await this.replays.get({ organizationId, endpointId, replayId });
    if (replay === null) throw notFound('replay');
    return answer(replayView(replay));
  }
}

/** The latest end of a replay: later events are sent anyway. */
function earlier(now: Date, to: string | null): Date {
  return to === null || Date.parse(to) > now.getTime() ? now : new Date(to);
}

function replayView(replay: ReplayRecord): WebhookReplayView {
  const [reachedAt = ''] = replay.nextPosition.split('/', 1);
  return {
    replayId: replay.id,
    webhookId: replay.endpointId,
    from: replay.fromAt.toISOString(),
    to: replay.toAt.toISOString(),
    eventTypes: replay.eventTypes ?? eventTypes,
    state: replay.state,
    eventsSent: replay.eventsSent,
    reachedAt: reachedAt === '' ? null : reachedAt,
    requestedAt: replay.requestedAt.toISOString(),
    finishedAt: replay.finishedAt?.toISOString() ?? null,
  };
}
