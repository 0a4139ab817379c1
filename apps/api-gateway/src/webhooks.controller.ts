import { Controller, Inject } from '@nestjs/common';
import { WebhookEndpointDirectory, type WebhookTestResult } from '@pis/commands';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  type RotatedWebhookEndpointView,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  webhookEndpointView,
  type WebhookEndpointView,
  type WebhookRotateRequest,
  type WebhookTestRequest,
} from '@pis/contracts';
import type { CommandContext } from '@pis/event-store';
import {
  type Answer,
  answer,
  Body,
  Caller,
  Context,
  granted,
  Id,
  Operation,
  ServedWebhookTests,
  Turns,
  UncheckedBody,
} from '@pis/http-api';
import { healthy, WebhookHealth } from './webhook-health.js';

/** Lists of one organization. A list can be more than a megabyte: others are answered between two of them. */
const listTurns = { atOnceMax: 3, sizeMax: 500 } as const;

@Controller()
export class WebhooksController {
  private readonly turns = new Turns(listTurns);

  constructor(
    @Inject(WebhookEndpointDirectory) private readonly endpoints: WebhookEndpointDirectory,
    @Inject(ServedWebhookTests) private readonly tests: ServedWebhookTests,
    @Inject(WebhookHealth) private readonly health: WebhookHealth,
  ) {}

  /** The only answer that ever shows the secret. */
  @Operation(createWebhook)
  async create(
    @Caller() { organizationId }: Caller,
    @Context() context: CommandContext,
    @UncheckedBody() body: unknown,
  ): Promise<Answer<WebhookEndpointView & { readonly secret: string }>> {
    const created = await this.endpoints.create(organizationId, body, context);
    const { endpoint, secret } = granted(created);
    return answer({ ...webhookEndpointView(endpoint, healthy), secret });
  }

  @Operation(listWebhooks)
  async list(
    @Caller() { organizationId }: Caller,
  ): Promise<Answer<readonly WebhookEndpointView[]>> {
    return this.turns.take(organizationId, async () => {
      const endpoints = await this.endpoints.list(organizationId);
      return answer(await this.health.viewsOf(organizationId, endpoints.toReversed()));
    });
  }

  @Operation(getWebhook)
  async get(
    @Caller() { organizationId }: Caller,
    @Id('id') endpointId: string,
  ): Promise<Answer<WebhookEndpointView>> {
    const endpoint = granted(await this.endpoints.get(organizationId, endpointId));
    return answer(await this.health.viewOf(organizationId, endpoint));
  }

  @Operation(updateWebhook)
  async update(
    @Caller() { organizationId }: Caller,
    @Context() context: CommandContext,
    @Id('id') endpointId: string,
    @UncheckedBody() body: unknown,
  ): Promise<Answer<WebhookEndpointView>> {
    const endpoint = granted(
      await this.endpoints.update(organizationId, endpointId, body, context),
    );
    return answer(await this.health.viewOf(organizationId, endpoint));
  }

  @Operation(deleteWebhook)
  async delete(
    @Caller() { organizationId }: Caller,
    @Context() context: CommandContext,
    @Id('id') endpointId: string,
  ): Promise<void> {
    granted(await this.endpoints.delete(organizationId, endpointId, context));
  }

  /** The only answer that ever shows the new secret. */
  @Operation(rotateWebhookSecret)
  async rotateSecret(
    @Caller() { organizationId }: Caller,
    @Context() context: CommandContext,
    @Id('id') endpointId: string,
    @Body() body: WebhookRotateRequest,
  ): Promise<Answer<RotatedWebhookEndpointView>> {
    const { endpoint, secret } = granted(
      await this.endpoints.rotateSecret(organizationId, endpointId, body, context),
    );
    const previousSecretEndsAt = endpoint.previousSecret?.endsAt ?? null;
    const view = await this.health.viewOf(organizationId, endpoint);
    return answer({ ...view, secret, previousSecretEndsAt });
  }

  @Operation(testWebhook, { hasOwnTimeLimit: true })
  async test(
    @Caller() { organizationId, apiKeyId }: Caller,
    @Id('id') endpointId: string,
    @Body() test: WebhookTestRequest,
  ): Promise<Answer<WebhookTestResult>> {
    const endpoint = granted(await this.endpoints.get(organizationId, endpointId));
    return answer(granted(await this.tests.deliver({ organizationId, apiKeyId }, endpoint, test)));
  }
}
