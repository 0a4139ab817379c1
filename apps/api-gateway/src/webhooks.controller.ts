import { randomUUID } from 'node:crypto';
import { Controller, Delete, Get, HttpCode, Inject, Patch, Post, Req } from '@nestjs/common';
import {
  type Problem,
  problem,
  validate,
  type Validated,
  webhookCreateSchema,
  webhookEndpointView,
  type WebhookEndpointView,
  type WebhookPatchRequest,
  webhookPatchSchema,
  type RotatedWebhookEndpointView,
  type WebhookRotateRequest,
  webhookRotateSchema,
  type WebhookTestRequest,
  webhookTestSchema,
} from '@pis/contracts';
import {
  type WebhookEndpoint,
  type WebhookEndpointChanges,
  webhookEndpoints,
  type WebhookEndpointsCommand,
} from '@pis/domain';
import { type CommandContext, type EventStore, repository, StreamStates } from '@pis/event-store';
import {
  accepted,
  answer,
  type Answer,
  bodyOf,
  callerOf,
  contextOf,
  idIn,
  invalid,
  notFound,
  now,
  OwnTimeLimit,
  OwnWrites,
} from '@pis/http-api';
import { type Keyring, ownerOf } from '@pis/keyring';
import { EVENT_STORE, KEYRING } from '@pis/service-kit';
import { checkWebhookUrl, createSecret, type WebhookUrlOptions } from '@pis/webhooks';
import type { FastifyRequest } from 'fastify';
import { WEBHOOK_URL_OPTIONS } from './tokens.js';
import { healthy, WebhookHealth } from './webhook-health.js';
import { type WebhookTestResult, WebhookTests } from './webhook-test.js';

/** One stream holds all endpoints of an organization, so reads fold it and are always current. */
@Controller('v1/webhooks')
export class WebhooksController {
  private readonly endpoints;

  constructor(
    @Inject(EVENT_STORE) store: EventStore,
    @Inject(KEYRING) private readonly keyring: Keyring,
    @Inject(OwnWrites) private readonly ownWrites: OwnWrites,
    @Inject(WEBHOOK_URL_OPTIONS) private readonly urlOptions: WebhookUrlOptions,
    @Inject(WebhookTests) private readonly tests: WebhookTests,
    @Inject(WebhookHealth) private readonly health: WebhookHealth,
    @Inject(StreamStates) states: StreamStates,
  ) {
    this.endpoints = repository(store, webhookEndpoints, { states });
  }

  /** The only answer that ever shows the secret. */
  @Post()
  async create(
    @Req() request: FastifyRequest,
  ): Promise<Answer<WebhookEndpointView & { readonly secret: string }>> {
    const { organizationId } = callerOf(request);
    const body = bodyOf(request);
    const { url, subscribedEvents, label } = await this.withUrlChecked(
      validate(webhookCreateSchema, body),
      body,
    );
    const endpointId = randomUUID();
    const secret = createSecret();
    const dataKey = this.keyring.createDataKey();
    const sealedSecret = this.keyring.seal(dataKey, secret, ownerOf.webhookEndpoint(endpointId));
    const data = { organizationId, endpointId, url, subscribedEvents, label, sealedSecret };
    const command = { type: 'CreateWebhookEndpoint', at: now(), data } as const;
    const endpoints = await this.execute(organizationId, command, contextOf(request));
    const created = webhookEndpointView(endpointIn(endpoints, endpointId), healthy);
    return answer({ ...created, secret });
  }

  @Get()
  async list(@Req() request: FastifyRequest): Promise<Answer<readonly WebhookEndpointView[]>> {
    const { organizationId } = callerOf(request);
    const { state } = await this.endpoints.load(organizationId);
    return answer(await this.health.viewsOf(organizationId, state.endpoints.toReversed()));
  }

  @Get(':id')
  async get(@Req() request: FastifyRequest): Promise<Answer<WebhookEndpointView>> {
    const { organizationId } = callerOf(request);
    const endpointId = idIn(request, 'id');
    const { state } = await this.endpoints.load(organizationId);
    const endpoint = endpointIn(state.endpoints, endpointId);
    return answer(await this.health.viewOf(organizationId, endpoint));
  }

  @Patch(':id')
  async update(@Req() request: FastifyRequest): Promise<Answer<WebhookEndpointView>> {
    const { organizationId } = callerOf(request);
    const endpointId = idIn(request, 'id');
    const body = bodyOf(request);
    const patch = await this.withUrlChecked(validate(webhookPatchSchema, body), body);
    const data = { organizationId, endpointId, changes: changesOf(patch) };
    const command = { type: 'UpdateWebhookEndpoint', at: now(), data } as const;
    const endpoints = await this.execute(organizationId, command, contextOf(request));
    const endpoint = endpointIn(endpoints, endpointId);
    return answer(await this.health.viewOf(organizationId, endpoint));
  }

  @Delete(':id')
  @HttpCode(204)
  async delete(@Req() request: FastifyRequest): Promise<void> {
    const { organizationId } = callerOf(request);
    const endpointId = idIn(request, 'id');
    const data = { organizationId, endpointId };
    const command = { type: 'DeleteWebhookEndpoint', at: now(), data } as const;
    await this.execute(organizationId, command, contextOf(request));
  }

  /** The only answer that ever shows the new secret. */
  @Post(':id/rotate-secret')
  @HttpCode(200)
  async rotateSecret(@Req() request: FastifyRequest): Promise<Answer<RotatedWebhookEndpointView>> {
    const { organizationId } = callerOf(request);
    const endpointId = idIn(request, 'id');
    const { overlapHours } = accepted<WebhookRotateRequest>(
      validate(webhookRotateSchema, bodyOf(request)),
    );
    const secret = createSecret();
    const dataKey = this.keyring.createDataKey();
    const sealedSecret = this.keyring.seal(dataKey, secret, ownerOf.webhookEndpoint(endpointId));
    const data = { organizationId, endpointId, sealedSecret, overlapHours };
    const command = { type: 'RotateWebhookEndpointSecret', at: now(), data } as const;
    const endpoints = await this.execute(organizationId, command, contextOf(request));
    const endpoint = endpointIn(endpoints, endpointId);
    const previousSecretEndsAt = endpoint.previousSecret?.endsAt ?? null;
    const view = await this.health.viewOf(organizationId, endpoint);
    return answer({ ...view, secret, previousSecretEndsAt });
  }

  @Post(':id/test')
  @HttpCode(200)
  @OwnTimeLimit()
  async test(@Req() request: FastifyRequest): Promise<Answer<WebhookTestResult>> {
    const endpointId = idIn(request, 'id');
    const test = accepted<WebhookTestRequest>(validate(webhookTestSchema, bodyOf(request)));
    const { organizationId, apiKeyId } = callerOf(request);
    const { state } = await this.endpoints.load(organizationId);
    const endpoint = endpointIn(state.endpoints, endpointId);
    return answer(await this.tests.deliver(apiKeyId, endpoint, test));
  }

  /** @throws ApiError NOT_FOUND, VALIDATION_ERROR (subscription limit) */
  private async execute(
    organizationId: string,
    command: WebhookEndpointsCommand,
    context: CommandContext,
  ): Promise<readonly WebhookEndpoint[]> {
    const result = await this.endpoints.execute(organizationId, command, context);
    if ('refused' in result) {
      if (result.refused === 'WEBHOOK_ENDPOINT_NOT_FOUND') throw notFound('webhook endpoint');
      throw invalid([problem('subscribedEvents', 'validation_subscription_limit')]);
    }
    this.ownWrites.note('directory', organizationId, result.position);
    return result.state.endpoints;
  }

  /** The URL is judged beside the schema, so that all problems are reported at once. */
  private async withUrlChecked<Request>(
    validated: Validated<Request>,
    body: unknown,
  ): Promise<Request> {
    const problems: Problem[] = validated.ok ? [] : [...validated.problems];
    const { url } = (body ?? {}) as { readonly url?: unknown };
    const judged = problems.some(({ field }) => field === 'url');
    if (typeof url === 'string' && !judged) {
      const found = await checkWebhookUrl(url, this.urlOptions);
      if (found !== null) problems.push(problem('url', found));
    }
    if (!validated.ok || problems.length > 0) throw invalid(problems);
    return validated.value;
  }
}

/** @throws ApiError NOT_FOUND */
export function endpointIn(
  endpoints: readonly WebhookEndpoint[],
  endpointId: string,
): WebhookEndpoint {
  const found = endpoints.find((endpoint) => endpoint.endpointId === endpointId);
  if (found === undefined) throw notFound('webhook endpoint');
  return found;
}

function changesOf(patch: WebhookPatchRequest): WebhookEndpointChanges {
  const { url, subscribedEvents, label, enabled } = patch;
  return {
    ...(url === undefined ? {} : { url }),
    ...(subscribedEvents === undefined ? {} : { subscribedEvents }),
    ...(label === undefined ? {} : { label }),
    ...(enabled === undefined ? {} : { enabled }),
  };
}
