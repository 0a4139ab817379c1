/** The hosts in the configuration of this system. No webhook is sent to them. */
import { parseDocumentPlace } from '@pis/documents/place';
import { parseEventStoreDbUrl } from '@pis/event-store';
import type {
  BrokerConfig,
  DashboardConfig,
  DocumentsConfig,
  ProcessConfig,
  RailsConfig,
  StorageConfig,
  WebhooksConfig,
} from './environment.js';

/** An app knows only the hosts that it uses. */
export type OwnHostsConfig = Partial<
  Pick<ProcessConfig, 'HOST' | 'PORT' | 'PIS_METRICS_PORT' | 'OTEL_EXPORTER_OTLP_ENDPOINT'> &
    Pick<StorageConfig, 'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'EVENTSTOREDB_URL'> &
    Pick<BrokerConfig, 'KAFKA_BROKERS'> &
    Pick<RailsConfig, 'PIS_BANK_URL' | 'PIS_SMTP_URL'> &
    Pick<DocumentsConfig, 'PIS_DOCUMENT_STORE'> &
    Pick<DashboardConfig, 'PIS_OIDC_ISSUER'> &
    Pick<WebhooksConfig, 'PIS_WEBHOOK_EGRESS_PROXY'>
>;

/** The default port of each scheme. */
const portOf: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'kafka:': 9092,
  'http:': 80,
  'https:': 443,
  'smtp:': 587,
  'smtps:': 465,
};
/** Stands for all addresses of this machine. */
const everywhere = '0.0.0.0';

export interface OwnHost {
  readonly host: string;
  readonly port: number;
}

/** Those of the banks are in a file: see the apps that send webhooks. */
export function ownHosts(config: OwnHostsConfig): readonly OwnHost[] {
  const urls = [
    config.DATABASE_URL,
    config.DATABASE_DIRECT_URL,
    config.PIS_BANK_URL,
    config.OTEL_EXPORTER_OTLP_ENDPOINT,
    config.PIS_WEBHOOK_EGRESS_PROXY,
    config.PIS_SMTP_URL,
    config.PIS_OIDC_ISSUER,
    endpointOf(config.PIS_DOCUMENT_STORE),
    ...(config.KAFKA_BROKERS ?? []).map((broker) => `kafka://${broker}`),
  ];
  const here = [config.PORT, config.PIS_METRICS_PORT].map((port) => ({
    host: config.HOST ?? everywhere,
    port: port ?? 0,
  }));
  // The system chooses a port for 0. A URL without a host names a socket file.
  const eventStore =
    config.EVENTSTOREDB_URL === undefined
      ? []
      : parseEventStoreDbUrl(config.EVENTSTOREDB_URL).hosts;
  return [...urls.flatMap(hostOf), ...eventStore, ...here].filter(
    ({ host, port }) => host !== '' && port !== 0,
  );
}

/** Of a store of one's own. Amazon's is a public host like any other. */
function endpointOf(store = 'postgres'): string | undefined {
  const place = parseDocumentPlace(store);
  return place === 'postgres' ? undefined : (place.endpoint ?? undefined);
}

function hostOf(text: string | undefined): { host: string; port: number }[] {
  if (text === undefined || !URL.canParse(text)) return [];
  const { hostname, port, protocol } = new URL(text);
  const host = hostname.replace(/^\[|\]$/g, '');
  return [{ host, port: port === '' ? (portOf[protocol] ?? 0) : Number(port) }];
}
