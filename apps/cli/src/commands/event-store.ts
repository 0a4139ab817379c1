/** `pis event-store`: whether the event store answers, and whether our user has the rights it needs. */
import { parseEventStoreDbUrl } from '@pis/event-store';
import { checkEventStoreDb, letReadLog, type SetUpFinding } from '@pis/event-store/eventstoredb';
import { createPool } from '@pis/postgres';
import {
  bindingOf,
  createEventStore,
  type PlatformConfig,
  sealingOnUse,
} from '@pis/service-kit/stores';
import { Command } from 'commander';
import { databaseUrlOf, poolOptionsOf, readConfig } from '../context.js';
import { CommandFailed, describe, type OutputOptions, print, withJson } from '../output.js';

interface Finding extends Omit<SetUpFinding, 'name'> {
  readonly name: SetUpFinding['name'] | 'marker';
}

export function eventStoreCommands(): Command {
  const eventStore = new Command('event-store').description('the store of all events');
  withJson(
    eventStore
      .command('check')
      .description('check whether the event store is usable; changes nothing'),
  ).action(check);
  withJson(
    eventStore
      .command('apply')
      .description('let a user read the log; EVENTSTOREDB_URL must belong to an administrator')
      .requiredOption('--user <name>', 'name of the user that the apps connect as'),
  ).action(apply);
  return eventStore;
}

/** @throws CommandFailed after printing everything, if a check failed */
async function check(options: OutputOptions): Promise<void> {
  const { config } = readConfig();
  const findings: Finding[] =
    config.PIS_EVENT_STORE === 'eventstoredb'
      ? [...(await checkEventStoreDb(urlOf(config), config.EVENTSTOREDB_NAMESPACE))]
      : [];
  findings.push(...(await storeFindings(config)));
  const ok = findings.every((finding) => finding.ok);
  if (options.json) print({ ok, findings }, options);
  else
    for (const finding of findings)
      process.stdout.write(
        `${finding.ok ? 'ok    ' : 'not ok'} ${finding.name}: ${finding.text}\n`,
      );
  if (!ok) throw new CommandFailed('the event store cannot be used as it is');
}

/** Every event store has a binding that says which service it belongs to. */
async function storeFindings(config: PlatformConfig): Promise<Finding[]> {
  const { logger } = readConfig();
  const databaseUrl = config.PIS_EVENT_STORE === 'postgres' ? databaseUrlOf(config) : '';
  const pool = createPool(databaseUrl, 'cli', logger, poolOptionsOf(config));
  const noKey = () => Promise.reject(new Error('the check needs no personal data'));
  const store = await createEventStore(config, pool, databaseUrl, sealingOnUse(noKey));
  try {
    const found = await bindingOf(store);
    const environment = config.PIS_ENVIRONMENT;
    if (found === null)
      return [{ name: 'marker', ok: true, text: 'none yet: the first process writes it' }];
    return found.environment === environment
      ? [{ name: 'marker', ok: true, text: `${environment}, store ${found.storeId}` }]
      : [
          {
            name: 'marker',
            ok: false,
            text: `the store belongs to ${found.environment}: correct PIS_ENVIRONMENT or the address`,
          },
        ];
  } catch (error) {
    return [{ name: 'marker', ok: false, text: describe(error) }];
  } finally {
    await store.close();
    await pool.end();
  }
}

/** @throws CommandFailed */
async function apply({ user, ...options }: OutputOptions & { user: string }): Promise<void> {
  const { config } = readConfig();
  if (config.PIS_EVENT_STORE !== 'eventstoredb')
    throw new CommandFailed('nothing to do: PIS_EVENT_STORE is not eventstoredb');
  const url = urlOf(config);
  if (parseEventStoreDbUrl(url).credentials === null)
    throw new CommandFailed("EVENTSTOREDB_URL must have an administrator's user and password");
  print(await letReadLog(url, user), options);
}

function urlOf({ EVENTSTOREDB_URL: url }: PlatformConfig): string {
  if (url === undefined) throw new CommandFailed('EVENTSTOREDB_URL is not set');
  return url;
}
