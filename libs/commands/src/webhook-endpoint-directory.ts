/**
 * Webhook endpoints: creating, changing, deleting them, and rotating their signing secrets. One stream holds
 * all endpoints of an organization, so reads fold it and are always current.
 */
import { randomUUID } from 'node:crypto';
import {
  type Problem,
  problem,
  validate,
  webhookCreateSchema,
  type WebhookPatchRequest,
  webhookPatchSchema,
  type WebhookRotateRequest,
} from '@pis/contracts';
import {
  isRefusal,
  type Refusal,
  type WebhookEndpoint,
  type WebhookEndpointChanges,
  webhookEndpoints,
  type WebhookEndpointsCommand,
  type WebhookEndpointsRefusal,
} from '@pis/domain';
import { type CommandContext, repository } from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { checkWebhookUrl, createSecret, type WebhookUrlOptions } from '@pis/webhooks';
import {
  type InvalidRequest,
  invalidRequest,
  now,
  type OwnWrites,
  type UseCaseOptions,
} from './use-case.js';

export type WebhookEndpointRefusal = Refusal<WebhookEndpointsRefusal> | InvalidRequest;
type NotFound = Refusal<'WEBHOOK_ENDPOINT_NOT_FOUND'>;

export interface EndpointWithSecret {
  readonly endpoint: WebhookEndpoint;
  /** In clear text: shown once, and stored only sealed. */
  readonly secret: string;
}

export interface WebhookEndpointDirectoryOptions extends UseCaseOptions {
  /** Which addresses a URL may lead to. */
  readonly urls: WebhookUrlOptions;
}

export class WebhookEndpointDirectory {
  private readonly keyring: Keyring;
  private readonly ownWrites: OwnWrites;
  private readonly urls: WebhookUrlOptions;
  private readonly endpoints;

  constructor({ store, keyring, ownWrites, states, urls }: WebhookEndpointDirectoryOptions) {
    this.keyring = keyring;
    this.ownWrites = ownWrites;
    this.urls = urls;
    this.endpoints = repository(store, webhookEndpoints, { states });
  }

  /** In the order of creation. @throws StoreUnavailable */
  async list(organizationId: string): Promise<readonly WebhookEndpoint[]> {
    return (await this.endpoints.load(organizationId)).state.endpoints;
  }

  /** @throws StoreUnavailable */
  async get(organizationId: string, endpointId: string): Promise<WebhookEndpoint | NotFound> {
    return endpointIn(await this.list(organizationId), endpointId);
  }

  /** @param body as it was sent: its URL is checked beside its schema. @throws StoreUnavailable */
  async create(
    organizationId: string,
    body: unknown,
    context: CommandContext,
  ): Promise<EndpointWithSecret | WebhookEndpointRefusal> {
    const validated = validate(webhookCreateSchema, body);
    const problems = await this.problemsOf(validated.ok ? [] : validated.problems, body);
    if (!validated.ok || problems.length > 0) return invalidRequest(problems);
    const { url, subscribedEvents, label } = validated.value;
    const endpointId = randomUUID();
    return this.withSecret(organizationId, endpointId, context, (sealedSecret) => ({
      type: 'CreateWebhookEndpoint',
      at: now(),
      data: { organizationId, endpointId, url, subscribedEvents, label, sealedSecret },
    }));
  }

  /**
   * Applies a PATCH; one that changes nothing writes nothing.
   * @param body as it was sent: its URL is checked beside its schema
   * @throws StoreUnavailable
   */
  async update(
    organizationId: string,
    endpointId: string,
    body: unknown,
    context: CommandContext,
  ): Promise<WebhookEndpoint | WebhookEndpointRefusal> {
    const validated = validate(webhookPatchSchema, body);
    const problems = await this.problemsOf(validated.ok ? [] : validated.problems, body);
    if (!validated.ok || problems.length > 0) return invalidRequest(problems);
    const data = { organizationId, endpointId, changes: changesOf(validated.value) };
    const command = { type: 'UpdateWebhookEndpoint', at: now(), data } as const;
    return this.execute(organizationId, command, context);
  }

  /** Until the overlap ends, deliveries are also signed with the previous secret. @throws StoreUnavailable */
  async rotateSecret(
    organizationId: string,
    endpointId: string,
    { overlapHours }: WebhookRotateRequest,
    context: CommandContext,
  ): Promise<EndpointWithSecret | WebhookEndpointRefusal> {
    return this.withSecret(organizationId, endpointId, context, (sealedSecret) => ({
      type: 'RotateWebhookEndpointSecret',
      at: now(),
      data: { organizationId, endpointId, sealedSecret, overlapHours },
    }));
  }

  /** @throws StoreUnavailable */
  async delete(
    organizationId: string,
    endpointId: string,
    context: CommandContext,
  ): Promise<{ readonly endpointId: string } | WebhookEndpointRefusal> {
    const data = { organizationId, endpointId };
    const command = { type: 'DeleteWebhookEndpoint', at: now(), data } as const;
    const result = await this.endpoints.execute(organizationId, command, context);
    if ('refused' in result) return result;
    this.ownWrites.note('directory', organizationId, result.position);
    return { endpointId };
  }

  /** The endpoint that the command is about, as it is afterwards. */
  private async execute(
    organizationId: string,
    command: WebhookEndpointsCommand,
    context: CommandContext,
  ): Promise<WebhookEndpoint | WebhookEndpointRefusal> {
    const result = await this.endpoints.execute(organizationId, command, context);
    if ('refused' in result) return result;
    this.ownWrites.note('directory', organizationId, result.position);
    return endpointIn(result.state.endpoints, command.data.endpointId);
  }

  /**
   * Executes a command with a new secret. Sealing makes a data key for the endpoint, which is kept for good: so a command
   * that will be refused is refused before.
   */
  private async withSecret(
    organizationId: string,
    endpointId: string,
    context: CommandContext,
    commandWith: (sealedSecret: string) => WebhookEndpointsCommand,
  ): Promise<EndpointWithSecret | WebhookEndpointRefusal> {
    const { state } = await this.endpoints.load(organizationId);
    const decision = webhookEndpoints.decide(commandWith(''), state);
    if (isRefusal(decision)) return decision;
    const secret = createSecret();
    const sealed = await this.keyring.seal(ownerOf.webhookEndpoint(endpointId), secret);
    const endpoint = await this.execute(organizationId, commandWith(sealed), context);
    return 'refused' in endpoint ? endpoint : { endpoint, secret };
  }

  /** The problems of schema and URL together, so that a client gets all of them at once. */
  private async problemsOf(found: readonly Problem[], body: unknown): Promise<readonly Problem[]> {
    const { url } = (body ?? {}) as { readonly url?: unknown };
    if (typeof url !== 'string' || found.some(({ field }) => field === 'url')) return found;
    const issue = await checkWebhookUrl(url, this.urls);
    return issue === null ? found : [...found, problem('url', issue)];
  }
}

function endpointIn(
  endpoints: readonly WebhookEndpoint[],
  endpointId: string,
): WebhookEndpoint | NotFound {
  const found = endpoints.find((endpoint) => endpoint.endpointId === endpointId);
  return found ?? { refused: 'WEBHOOK_ENDPOINT_NOT_FOUND' };
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
