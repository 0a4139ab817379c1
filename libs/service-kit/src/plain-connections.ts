/**
 * Connections to stores and brokers that anybody between can read or change, by the variables that name them. Names and
 * e-mail addresses of people pass there, and so do wrapped keys.
 */
import { parseEventStoreDbUrl } from '@pis/event-store';
import { isProtected } from '@pis/postgres';
import type { BrokerConfig, ProcessConfig, StorageConfig } from './environment.js';
import type { Logger } from './logging.js';

export type ConnectionsConfig = Partial<
  Pick<
    StorageConfig,
    'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'PIS_EVENT_STORE' | 'EVENTSTOREDB_URL'
  > &
    Pick<BrokerConfig, 'PIS_BROKER' | 'KAFKA_BROKERS' | 'KAFKA_SSL'>
>;

/** What reaches this machine crosses no network. */
const thisMachine: ReadonlySet<string> = new Set(['', 'localhost', '127.0.0.1', '::1', '[::1]']);

/** In production, where they belong to real people. A network of one's own may protect them otherwise, so this only warns. */
export function warnOfPlainConnections(
  config: ConnectionsConfig & Pick<ProcessConfig, 'PIS_ENVIRONMENT'>,
  logger: Pick<Logger, 'warn'>,
): void {
  if (config.PIS_ENVIRONMENT !== 'production') return;
  for (const variable of plainConnections(config))
    logger.warn(
      { variable },
      `connections by ${variable} are not encrypted, or the certificate of the server is not checked`,
    );
}

/** The variables, without their values. */
export function plainConnections(config: ConnectionsConfig): readonly string[] {
  const { DATABASE_URL, DATABASE_DIRECT_URL, EVENTSTOREDB_URL, KAFKA_BROKERS = [] } = config;
  const found = Object.entries({ DATABASE_URL, DATABASE_DIRECT_URL }).flatMap(([name, url]) =>
    url === undefined || isHere(new URL(url).hostname) || isProtected(url) ? [] : [name],
  );
  if (config.PIS_EVENT_STORE === 'eventstoredb' && EVENTSTOREDB_URL !== undefined) {
    const { tls, hosts } = parseEventStoreDbUrl(EVENTSTOREDB_URL);
    if (!tls && !hosts.every(({ host }) => isHere(host))) found.push('EVENTSTOREDB_URL');
  }
  const isKafkaPlain = config.PIS_BROKER === 'kafka' && config.KAFKA_SSL !== true;
  if (isKafkaPlain && !KAFKA_BROKERS.every((broker) => isHere(broker.replace(/:\d+$/, ''))))
    found.push('KAFKA_BROKERS');
  return found;
}

function isHere(host: string): boolean {
  return thisMachine.has(host);
}
