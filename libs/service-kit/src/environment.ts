/**
 * All environment variables, grouped by the part of the system that reads them (rules environment-1 to
 * variable-32). An app combines the groups that it needs. loadConfig reports all bad variables at once. A
 * test compares `.env.example` with this file.
 */
import { parseDocumentPlace } from '@pis/documents/place';
import { retentionYearsMax } from '@pis/domain';
import { namespaceDefault, namespaceForm, parseEventStoreDbUrl } from '@pis/event-store';
import { z } from 'zod';

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min).max(max));
const milliseconds = (max: number) => integer(0, max);
const commaSeparated = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
/** With ports: kafkajs assumes none, and would fail at every connection instead of at the start. */
const brokerList = commaSeparated.refine(
  (brokers) => brokers.length > 0 && brokers.every(isBroker),
  'must be host:port, several separated by commas',
);
const network = z.union([z.cidrv4(), z.cidrv6()]);
const networks = commaSeparated
  .refine(
    (items) => items.every((item) => network.safeParse(item).success),
    'must be networks such as 10.0.0.0/8, several separated by commas',
  )
  .default([]);
/** The message never contains the text: it may hold credentials. */
function url(schemes: readonly string[], hint = '') {
  const error = `must be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}${hint}`;
  // The URL parser accepts fewer slashes, and then finds no host.
  return z.url({ error, abort: true }).regex(new RegExp(`^(${schemes.join('|')})://`, 'i'), error);
}
const httpUrl = () => url(['http', 'https']);
const urlWithPassword = (...schemes: readonly string[]) =>
  url(schemes, ', with special characters of the password percent-encoded');
const isHttpUrl = (text: string) => httpUrl().safeParse(text).success;
const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
/** Parsed as the client parses it. The message never contains the credentials. */
const eventStoreDbUrl = z.superRefine<string>((text, context) => {
  try {
    parseEventStoreDbUrl(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
  }
});
/** The message never contains credentials. */
const documentPlace = z.superRefine<string>((text, context) => {
  try {
    parseDocumentPlace(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
  }
});
/**
 * The most connections of a process to PostgreSQL. Work that holds a connection needs a second one at times:
 * with fewer than the minimum, processes wait for themselves.
 * @param held the connections that the projections and the relay of the process hold all the time
 */
export function databasePool(held = 2) {
  const freeMin = 2;
  return integer(2 * (held + freeMin) + 1, 1_000).default(25);
}
const hoursMs = 3_600_000;
const yearMs = 365 * 24 * hoursMs;
/** Longer than any orchestrator needs to remove an address from its endpoints. */
const drainMaxMs = 300_000;

export const processEnv = {
  PORT: integer(0, 65_535).default(3000),
  HOST: z.string().min(1).optional(),
  PIS_ENVIRONMENT: z.enum(['sandbox', 'production']).default('sandbox'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl().optional(),
  /** What the endpoint gets besides traces. */
  OTEL_METRICS_EXPORTER: z.enum(['otlp', 'none']).default('otlp'),
  OTEL_METRIC_EXPORT_INTERVAL: integer(100, hoursMs).default(60_000),
  /** Which requests are traced. With `parentbased_`, the caller decides if it sends a traceparent. */
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on'),
  /** The part of the traces, for the samplers by ratio. */
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1')
    .transform(Number)
    .default(1),
  PIS_DATA_DIR: z.string().min(1).default('./.data'),
  /** Where /metrics is served in production when PORT is public. */
  PIS_METRICS_PORT: integer(0, 65_535).default(9464),
  /** How long the app continues to serve after SIGTERM. Unset: the app's default. */
  PIS_SHUTDOWN_DRAIN_MS: milliseconds(drainMaxMs).optional(),
  /** Proxies that are trusted to name the client in X-Forwarded-For. */
  PIS_TRUSTED_PROXIES: networks,
} as const;

export const storageEnv = {
  DATABASE_URL: urlWithPassword('postgres', 'postgresql').optional(),
  /** The server itself, if DATABASE_URL is that of a pooler in transaction mode. For locks and notifications. */
  DATABASE_DIRECT_URL: urlWithPassword('postgres', 'postgresql').optional(),
  PIS_DATABASE_POOL: databasePool(),
  PIS_EVENT_STORE: z.enum(['postgres', 'eventstoredb']).default('postgres'),
  /** A node, a cluster, or a DNS name for discovery. May contain credentials. */
  EVENTSTOREDB_URL: z.string().check(eventStoreDbUrl).optional(),
  /** The client library for EventStoreDB. */
  EVENTSTOREDB_CLIENT: z.enum(['eventstore', 'kurrent']).default('eventstore'),
  /** Prefix of every stream's name, so that several systems can share a server. */
  EVENTSTOREDB_NAMESPACE: z
    .string()
    .regex(namespaceForm, 'must be 1 to 64 of A-Z a-z 0-9 _ -')
    .default(namespaceDefault),
} as const;

export const brokerEnv = {
  PIS_BROKER: z.enum(['embedded', 'kafka']).default('embedded'),
  KAFKA_BROKERS: brokerList.optional(),
  /** The client library for Kafka. */
  KAFKA_CLIENT: z.enum(['kafkajs', 'platformatic']).default('kafkajs'),
  KAFKA_SSL: flag.default(false),
  KAFKA_SSL_CA_FILE: z.string().min(1).optional(),
  /** The client certificate and its key, where the brokers want one. */
  KAFKA_SSL_CERT_FILE: z.string().min(1).optional(),
  KAFKA_SSL_KEY_FILE: z.string().min(1).optional(),
  KAFKA_SASL_MECHANISM: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional(),
  KAFKA_SASL_USERNAME: z.string().min(1).optional(),
  KAFKA_SASL_PASSWORD: z.string().min(1).optional(),
  /** Prefix of topics and consumer groups, for shared clusters. */
  KAFKA_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{0,64}$/)
    .default(''),
  /** Messages that a consumer group of this process handles at a time. */
  PIS_CONSUMER_CONCURRENCY: integer(1, 1_000).default(64),
} as const;

/** At most one of them is set. The first key of a list is active, the others only unwrap. */
export const masterKeyVariables = [
  'PIS_MASTER_KEY',
  'PIS_MASTER_KEYS',
  'PIS_MASTER_KEY_FILE',
  'PIS_MASTER_KEYS_FILE',
] as const;

const masterKeyBytes = 32;

/** The keys of a list: separated by commas, in a file also by line ends. */
export function masterKeysIn(text: string): readonly string[] {
  return text.split(/[,\s]+/).filter((key) => key !== '');
}

/** One key. A secret that a command printed ends with a line end. */
export function masterKeyIn(text: string): readonly string[] {
  return [text.trim()];
}

/** What is wrong with the keys, without the keys; null when nothing is. */
export function masterKeyProblem(keys: readonly string[]): string | null {
  if (keys.length === 0) return 'holds no key';
  for (const [index, key] of keys.entries()) {
    const which = keys.length === 1 ? 'the key' : `key ${index + 1}`;
    const { length } = Buffer.from(key, 'base64');
    if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(key)) return `${which} is not base64`;
    if (length !== masterKeyBytes)
      return `${which} has ${length} bytes instead of ${masterKeyBytes}`;
  }
  const different = new Set(keys.map((key) => Buffer.from(key, 'base64').toString('base64')));
  return different.size < keys.length ? 'the same key is there twice' : null;
}

function masterKeys(keysIn: (text: string) => readonly string[]) {
  return z.string().superRefine((text, context) => {
    const problem = masterKeyProblem(keysIn(text));
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  });
}

export const keyringEnv = {
  PIS_MASTER_KEY: masterKeys(masterKeyIn).optional(),
  PIS_MASTER_KEYS: masterKeys(masterKeysIn).optional(),
  PIS_MASTER_KEY_FILE: z.string().min(1).optional(),
  PIS_MASTER_KEYS_FILE: z.string().min(1).optional(),
} as const;

/** For the process that signs the checkpoints of the audit log. At most one of them is set. */
export const auditEnv = {
  /** Ed25519 private key: 32 bytes, base64. */
  PIS_AUDIT_KEY: masterKeys(masterKeyIn).optional(),
  PIS_AUDIT_KEY_FILE: z.string().min(1).optional(),
} as const;

/** YAML: the banks, their rails and how they are reached. Required in production. */
const banksFile = z.string().min(1).optional();

const rateMax = 1_000_000;

export const gatewayEnv = {
  PIS_PUBLIC_URL: httpUrl().optional(),
  /** The API answers within this time: with 503 if a store does not answer. */
  PIS_REQUEST_TIMEOUT_MS: integer(100, 600_000).default(10_000),
  PIS_RATE_LIMIT_PER_KEY: integer(0, rateMax).default(200),
  PIS_RATE_LIMIT_STORE: z.enum(['memory', 'postgres']).default('memory'),
  /** Payments take rails with a bank alone. */
  PIS_BANKS_FILE: banksFile,
} as const;

/** IDs of organizations with a limit of their own: ID=50,ID=0. */
const organizationRates = commaSeparated.transform((pairs, context) => {
  const rates = new Map<string, number>();
  for (const pair of pairs) {
    const [, id = '', rate = ''] = /^([0-9a-f-]+)=(\d{1,7})$/i.exec(pair) ?? [];
    if (!z.uuid().safeParse(id).success || Number(rate) > rateMax)
      context.addIssue(`${pair} is not an organization ID, = and 0 to ${rateMax}`);
    else if (rates.has(id.toLowerCase())) context.addIssue(`${id} is there twice`);
    else rates.set(id.toLowerCase(), Number(rate));
  }
  return rates as ReadonlyMap<string, number>;
});

/** Of the API. The dashboard limits users. */
export const organizationLimitsEnv = {
  /** Requests per second of all keys of an organization together; 0 for no limit. */
  PIS_RATE_LIMIT_PER_ORGANIZATION: integer(0, rateMax).default(0),
  PIS_RATE_LIMIT_ORGANIZATIONS: organizationRates.default(new Map()),
} as const;

/** For the operator's commands that erase personal data, and for who deletes old bank files. */
export const erasureEnv = {
  /**
   * How long personal data is kept after the last payment became final, and bank files are; 0 for not at all. Of
   * organizations that have no period of their own.
   */
  PIS_RETENTION_YEARS: integer(0, retentionYearsMax).default(7),
} as const;

/** For the operator's commands that call the API as a client. */
export const apiClientEnv = {
  PORT: processEnv.PORT,
  PIS_PUBLIC_URL: gatewayEnv.PIS_PUBLIC_URL,
  PIS_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be an API key')
    .optional(),
} as const;

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

export const dashboardEnv = {
  /** The address of an OpenID provider, with which users can sign in, too. */
  PIS_OIDC_ISSUER: httpUrl()
    .refine((text) => {
      if (!isHttpUrl(text)) return true;
      const { protocol, hostname, search, hash, username } = new URL(text);
      const isProtected = protocol === 'https:' || loopbackHosts.includes(hostname);
      return isProtected && search === '' && hash === '' && username === '';
    }, 'must be an HTTPS address without query and user')
    .optional(),
  PIS_OIDC_CLIENT_ID: z.string().min(1).max(256).optional(),
  PIS_OIDC_CLIENT_SECRET: z.string().min(1).max(1_024).optional(),
  PIS_OIDC_CLIENT_SECRET_FILE: z.string().min(1).optional(),
  /** What the button of the sign-in page calls the provider. */
  PIS_OIDC_NAME: z.string().trim().min(1).max(40).default('single sign-on'),
  PIS_PUBLIC_URL: gatewayEnv.PIS_PUBLIC_URL,
  PIS_REQUEST_TIMEOUT_MS: gatewayEnv.PIS_REQUEST_TIMEOUT_MS,
  /** For users; 0 also turns off the limit of failed sign-ins by address. */
  PIS_RATE_LIMIT_PER_KEY: gatewayEnv.PIS_RATE_LIMIT_PER_KEY,
} as const;

/** Of all-in-one in the sandbox. */
export const demoEnv = {
  /** The first API key of the demo organization. Unset: a random one. */
  PIS_BOOTSTRAP_API_KEY: z
    .string()
    .regex(/^pis_test_[A-Za-z0-9_-]{16,128}$/, 'must be pis_test_ and 16 to 128 characters')
    .optional(),
  /** Whether a new demo organization gets payments in every status. */
  PIS_DEMO_PAYMENTS: flag.default(true),
} as const;

export const webhooksEnv = {
  /** Webhooks never go to the banks. */
  PIS_BANKS_FILE: banksFile,
  PIS_WEBHOOK_ALLOWED_NETWORKS: networks,
  PIS_WEBHOOK_CA_FILE: z.string().min(1).optional(),
  /** A CONNECT proxy. May contain credentials. HTTP_PROXY and HTTPS_PROXY are not used. */
  PIS_WEBHOOK_EGRESS_PROXY: urlWithPassword('http', 'https')
    .refine((text) => !isHttpUrl(text) || new URL(text).pathname === '/', 'must have no path')
    .optional(),
  PIS_WEBHOOK_RETRY_INITIAL_MS: integer(1, yearMs).default(30_000),
  PIS_WEBHOOK_RETRY_MAX_MS: integer(1, yearMs).default(hoursMs),
  PIS_WEBHOOK_TIMEOUT_MS: integer(1, hoursMs).default(30_000),
  PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS: milliseconds(yearMs).default(72 * hoursMs),
  PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS: milliseconds(yearMs).default(14 * 24 * hoursMs),
  PIS_WEBHOOK_RETENTION_DAYS: integer(1, 3_650).default(30),
} as const;

/** For the process that sends webhooks. */
export const dispatcherEnv = {
  /** Attempts under way at a time. With fewer, slow receivers would leave no room for others. */
  PIS_WEBHOOK_CONCURRENCY: integer(10, 10_000).default(640),
} as const;

export const railsEnv = {
  /** Unset: the rail's own normal time; 2 s after the simulated delay in the sandbox. */
  PIS_RAIL_CONFIRMATION_TIMEOUT_MS: integer(1, yearMs).optional(),
  PIS_SANDBOX_RAIL_DELAY_MS: milliseconds(hoursMs).default(0),
  /** Rules of the automated review: YAML, see deploy/review-rules.example.yaml. */
  PIS_REVIEW_RULES_FILE: z.string().min(1).optional(),
  /** Who is told of payments in doubt. */
  PIS_STAFF_EMAILS: commaSeparated.pipe(z.array(z.email()).min(1)).optional(),
  /** Sender of these mails. Unset: pis@ and the host of PIS_SMTP_URL. */
  PIS_STAFF_EMAIL_FROM: z.email().optional(),
  /** May contain credentials. */
  PIS_SMTP_URL: urlWithPassword('smtp', 'smtps').optional(),
  /** For chat and paging. May contain credentials. */
  PIS_STAFF_WEBHOOK_URL: httpUrl().optional(),
  PIS_RETENTION_YEARS: erasureEnv.PIS_RETENTION_YEARS,
  PIS_BANKS_FILE: banksFile,
  /** For tests: base address of a bank simulator, called directly, without files and messages. Sandbox only. */
  PIS_BANK_URL: httpUrl().optional(),
} as const;

/** For the process that has the simulated bank. */
export const scenariosEnv = {
  /** What the bank does with which transfer: YAML, see docs/sandbox.md. */
  PIS_BANK_SCENARIOS_FILE: z.string().min(1).optional(),
} as const;

/** For what makes or serves statements and exports. */
export const documentsEnv = {
  /** postgres, or s3://bucket/prefix?endpoint=…&region=…&pathStyle=… */
  PIS_DOCUMENT_STORE: z.string().check(documentPlace).default('postgres'),
} as const;

/** Of the bank simulator as a process of its own. A port of 0 picks a free one. */
export const bankServersEnv = {
  /** The name by which rail-executor reaches it. Unset: HOST, or 127.0.0.1 if that is every address. */
  PIS_BANK_HOST: z
    .string()
    .regex(/^[A-Za-z0-9.:-]{1,253}$/, 'must be a host name or an IP address')
    .optional(),
  PIS_BANK_SFTP_PORT: integer(0, 65_535).default(2_022),
  PIS_BANK_HTTPS_PORT: integer(0, 65_535).default(2_443),
} as const;

/** The variables that every app reads. */
export const platformEnv = { ...processEnv, ...storageEnv, ...brokerEnv, ...keyringEnv } as const;

type Parsed<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;
export type ProcessConfig = Parsed<typeof processEnv>;
export type StorageConfig = Parsed<typeof storageEnv>;
export type BrokerConfig = Parsed<typeof brokerEnv>;
export type KeyringConfig = Parsed<typeof keyringEnv>;
export type AuditConfig = Parsed<typeof auditEnv>;
export type GatewayConfig = Parsed<typeof gatewayEnv>;
export type DashboardConfig = Parsed<typeof dashboardEnv>;
export type DemoConfig = Parsed<typeof demoEnv>;
export type WebhooksConfig = Parsed<typeof webhooksEnv>;
export type DispatcherConfig = Parsed<typeof dispatcherEnv>;
export type OrganizationLimitsConfig = Parsed<typeof organizationLimitsEnv>;
export type RailsConfig = Parsed<typeof railsEnv>;
export type ScenariosConfig = Parsed<typeof scenariosEnv>;
export type DocumentsConfig = Parsed<typeof documentsEnv>;
export type BankServersConfig = Parsed<typeof bankServersEnv>;
/** The variables of PlatformModule, which every app reads. */
export type PlatformConfig = ProcessConfig & StorageConfig & BrokerConfig & KeyringConfig;

/** An IPv6 address is in brackets. */
function isBroker(text: string): boolean {
  const [, port] = /^(?:[\w.-]+|\[[\da-f:.]+\]):(\d{1,5})$/i.exec(text) ?? [];
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535;
}
