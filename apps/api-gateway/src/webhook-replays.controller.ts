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
import {
  replayRequestOf,
  type ReplayRequests,
  replayView,
  runningReplaysMax,
} from '@pis/webhook-deliveries';
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

    const request = replayRequestOf(endpoint, asked, {
      id: randomUUID(),
      organizationId,
      throughPosition: await this.store.lastPosition(),
      requestedAt: new Date(),
    });
    const replay = await this.replays.create(request);
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
