import { Controller, Delete, Get, HttpCode, Inject, Patch, Post, Req } from '@nestjs/common';
import { WebhookEndpointDirectory } from '@pis/commands';
import {
  type RotatedWebhookEndpointView,
  validate,
  webhookEndpointView,
  type WebhookEndpointView,
  type WebhookRotateRequest,
  webhookRotateSchema,
  type WebhookTestRequest,
  webhookTestSchema,
} from '@pis/contracts';
import {
  accepted,
  type Answer,
  answer,
  bodyOf,
  callerOf,
  contextOf,
  idIn,
  OwnTimeLimit,
} from '@pis/http-api';
import type { FastifyRequest } from 'fastify';
import { granted } from './refusals.js';
import { healthy, WebhookHealth } from './webhook-health.js';
import { type WebhookTestResult, WebhookTests } from './webhook-test.js';

@Controller('v1/webhooks')
export class WebhooksController {
  constructor(
    @Inject(WebhookEndpointDirectory) private readonly endpoints: WebhookEndpointDirectory,
    @Inject(WebhookTests) private readonly tests: WebhookTests,
    @Inject(WebhookHealth) private readonly health: WebhookHealth,
  ) {}

  /** The only answer that ever shows the secret. */
  @Post()
  async create(
    @Req() request: FastifyRequest,
  ): Promise<Answer<WebhookEndpointView & { readonly secret: string }>> {
    const { organizationId } = callerOf(request);
    const body = bodyOf(request);
    const created = await this.endpoints.create(organizationId, body, contextOf(request));
    const { endpoint, secret } = granted(created);
    return answer({ ...webhookEndpointView(endpoint, healthy), secret });
  }

  @Get()
  async list(@Req() request: FastifyRequest): Promise<Answer<readonly WebhookEndpointView[]>> {
    const { organizationId } = callerOf(request);
    const endpoints = await this.endpoints.list(organizationId);
    return answer(await this.health.viewsOf(organizationId, endpoints.toReversed()));
  }

  @Get(':id')
  async get(@Req() request: FastifyRequest): Promise<Answer<WebhookEndpointView>> {
    const { organizationId } = callerOf(request);
    const endpoint = granted(await this.endpoints.get(organizationId, idIn(request, 'id')));
    return answer(await this.health.viewOf(organizationId, endpoint));
  }

  @Patch(':id')
  async update(@Req() request: FastifyRequest): Promise<Answer<WebhookEndpointView>> {
    const { organizationId } = callerOf(request);
    const endpointId = idIn(request, 'id');
    const body = bodyOf(request);
    const context = contextOf(request);
    const endpoint = granted(
      await this.endpoints.update(organizationId, endpointId, body, context),
    );
    return answer(await this.health.viewOf(organizationId, endpoint));
  }

  @Delete(':id')
  @HttpCode(204)
  async delete(@Req() request: FastifyRequest): Promise<void> {
    const { organizationId } = callerOf(request);
    const endpointId = idIn(request, 'id');
    granted(await this.endpoints.delete(organizationId, endpointId, contextOf(request)));
  }

  /** The only answer that ever shows the new secret. */
  @Post(':id/rotate-secret')
  @HttpCode(200)
  async rotateSecret(@Req() request: FastifyRequest): Promise<Answer<RotatedWebhookEndpointView>> {
    const { organizationId } = callerOf(request);
    const endpointId = idIn(request, 'id');
    const body = accepted<WebhookRotateRequest>(validate(webhookRotateSchema, bodyOf(request)));
    const context = contextOf(request);
    const { endpoint, secret } = granted(
      await this.endpoints.rotateSecret(organizationId, endpointId, body, context),
    );
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
    const endpoint = granted(await this.endpoints.get(organizationId, endpointId));
    return answer(await this.tests.deliver(apiKeyId, endpoint, test));
  }
}
