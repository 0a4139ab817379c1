import { createApiKey, revokeApiKey } from '@pis/commands';
import { apiKey as apiKeys, type ApiKeyState, apiKeyTypes, type ApiKeyType } from '@pis/domain';
import { beginning, type EventStore, type RecordedEvent, repository } from '@pis/event-store';
import { categoryEvents, findApiKeyDigest } from '@pis/read-models';
import { Command, Option } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { requireOrganization } from '../organization-given.js';
import { CommandFailed, describe, type OutputOptions, print, withJson } from '../output.js';
import { granted } from '../refusals.js';

export function apiKeyCommands(): Command {
  const apiKey = new Command('api-key').description('what clients authenticate with');
  withJson(
    apiKey
      .command('create')
      .description('create a key; it is shown only once')
      .requiredOption('--organization <id>', 'organization ID')
      .addOption(new Option('--type <type>', 'key type').choices(apiKeyTypes).makeOptionMandatory())
      .option('--expires-at <time>', 'ISO 8601'),
  ).action(
    async (
      options: OutputOptions & { organization: string; type: ApiKeyType; expiresAt?: string },
    ) => {
      const created = await withContext((context) =>
        createApiKey(context, {
          organizationId: options.organization,
          type: options.type,
          environment: context.config.PIS_ENVIRONMENT,
          expiresAt: options.expiresAt ?? null,
        }),
      );
      print(granted(created), options);
    },
  );
  withOperator(
    withJson(
      apiKey
        .command('revoke')
        .description('revoke a key; it stops working within 5 seconds')
        .requiredOption('--id <id>', 'apiKeyId, see list'),
    ),
  ).action(async (options: OutputOptions & ActionOptions & { id: string }) => {
    const apiKeyId = idGiven('--id', options.id);
    const action = {
      name: 'api-key revoke',
      subject: { apiKeyId },
      outcome: ({ revokedAt }: { readonly revokedAt: string }) => ({ revokedAt }),
    } as const;
    const revoked = await act(options, action, async (context) => {
      const digest = await findApiKeyDigest(context.pool, context.store, apiKeyId);
      if (digest === null) throw new CommandFailed(`there is no API key ${apiKeyId}`);
      // Thrown inside the action, so that a refusal is recorded as its failure.
      return granted(await revokeApiKey(context, { digest }));
    });
    print(revoked, options);
  });
  withJson(
    apiKey
      .command('list')
      .description("list an organization's keys; the keys themselves are not shown")
      .requiredOption('--organization <id>', 'organization ID'),
  ).action(list);
  return apiKey;
}

/** @throws CommandFailed after the whole list, when some could not be read */
async function list(options: OutputOptions & { organization: string }): Promise<void> {
  const organizationId = idGiven('--organization', options.organization);
  const keys = await withContext(async ({ store }) => {
    const found = await apiKeysOf(store, organizationId);
    if (found.length === 0) await requireOrganization(store, organizationId);
    return found;
  });
  print(
    keys.map((key) => ('unreadable' in key ? key : listed(key, options))),
    options,
  );
  const unreadable = keys.filter((key) => 'unreadable' in key).length;
  if (unreadable > 0)
    throw new CommandFailed(
      `${unreadable} of these keys cannot be read, each with its reason: see PisStreamsQuarantined in docs/runbooks/log.md`,
    );
}

/** `keyType` is a former name of `type`, which scripts may read. */
function listed({ digest: _, keyType, ...key }: NonNullable<ApiKeyState>, { json }: OutputOptions) {
  const { apiKeyId, ...others } = key;
  return { apiKeyId, type: keyType, ...(json === true ? { keyType } : {}), ...others };
}

interface UnreadableKey {
  /** Null when nothing tells which key it is, or whose. */
  readonly apiKeyId: string | null;
  readonly unreadable: string;
}

/**
 * Folded from the log, so that the list is right whether or not a projector runs. Only the events of the organization stay in memory, and
 * those of keys of which nothing tells whose they are.
 */
async function apiKeysOf(
  store: EventStore,
  organizationId: string,
): Promise<(NonNullable<ApiKeyState> | UnreadableKey)[]> {
  const streams = new Map<string, RecordedEvent[]>();
  for await (const event of categoryEvents(store, 'apiKey', beginning)) {
    const before = streams.get(event.streamId);
    if (before !== undefined) before.push(event);
    else if (event.revision === 0 && mayBeOf(event, organizationId))
      streams.set(event.streamId, [event]);
  }
  const { fold } = repository(store, apiKeys);
  return [...streams.values()].flatMap((events) => {
    try {
      return fold(events).state ?? [];
    } catch (error) {
      const { apiKeyId } = events[0]?.data ?? {};
      return {
        apiKeyId: typeof apiKeyId === 'string' ? apiKeyId : null,
        unreadable: describe(error),
      };
    }
  });
}

function mayBeOf({ type, data }: RecordedEvent, organizationId: string): boolean {
  const owner = data['organizationId'];
  return type !== 'ApiKeyCreated' || typeof owner !== 'string' || owner === organizationId;
}
