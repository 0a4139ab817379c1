/** Replays: past events sent to an endpoint again. The dispatcher does the work; here it is asked for. */
import { randomUUID } from 'node:crypto';
import { Controller, Get, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { WebhookEndpointDirectory } from '@pis/commands';
import {
  validate,
  type WebhookReplayRequest,
  webhookReplaySchema,
  type WebhookReplayView,
} from '@pis/contracts';
import { eventTypes, subscribes } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import {
  accepted,
  type Answer,
  answer,
  ApiError,
  bodyOf,
  callerOf,
  idIn,
  notFound,
} from '@pis/http-api';
import { EVENT_STORE } from '@pis/service-kit';
import { type ReplayRecord, type ReplayRequests, runningReplaysMax } from '@pis/webhook-deliveries';
import type { FastifyRequest } from 'fastify';
import { REPLAY_REQUESTS } from './tokens.js';
import { granted } from './refusals.js';
import { checkReceives } from './webhook-deliveries.controller.js';

@Controller('v1/webhooks')
export class WebhookReplaysController {
  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(REPLAY_REQUESTS) private readonly replays: ReplayRequests,
    @Inject(WebhookEndpointDirectory) private readonly endpoints: WebhookEndpointDirectory,
  ) {}

  @Post(':id/replay')
  @HttpCode(202)
  async begin(@Req() request: FastifyRequest): Promise<Answer<WebhookReplayView>> {
    const { organizationId } = callerOf(request);
    const endpointId = idIn(request, 'id');
    const asked = accepted<WebhookReplayRequest>(validate(webhookReplaySchema, bodyOf(request)));
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

  @Get(':id/replays/:replayId')
  async get(@Req() request: FastifyRequest): Promise<Answer<WebhookReplayView>> {
    const { organizationId } = callerOf(request);
    const endpointId = idIn(request, 'id');
    const replayId = idIn(request, 'replayId', 'replayId');
    const replay = await this.replays.get({ organizationId, endpointId, replayId });
    if (replay === null) throw notFound('replay');
    return answer(replayView(replay));
  }
}

/** What occurs from now on is sent anyway. */
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
