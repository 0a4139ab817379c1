/**
 * EVENTSTOREDB_URL, read by the client's own parser, so everything that the client accepts is accepted.
 *
 * That parser quotes unknown parts in its errors and on the console. So it never sees the credentials
 * together with the rest: they are removed first and parsed separately.
 */
import { createRequire } from 'node:module';
import type { Credentials, NodePreference } from '@eventstore/db-client';
import type * as Parser from '@eventstore/db-client/dist/Client/parseConnectionString.js';

export interface EventStoreDbHost {
  readonly host: string;
  readonly port: number;
}

/** The parsed connection string, with the credentials separate. */
export interface EventStoreDbUrl {
  /** The named nodes; with `esdb+discover` one name for all of them. */
  readonly hosts: readonly EventStoreDbHost[];
  readonly discover: boolean;
  readonly credentials: Credentials | null;
  readonly tls: boolean;
  readonly tlsCaFile: string | undefined;
  readonly userCertFile: string | undefined;
  readonly userKeyFile: string | undefined;
  /** Milliseconds, but for the time limit of gossip, which the client takes in seconds. */
  readonly settings: {
    readonly connectionName?: string;
    readonly discoveryInterval?: number;
    readonly gossipTimeout?: number;
    readonly maxDiscoverAttempts?: number;
    readonly keepAliveInterval?: number;
    readonly keepAliveTimeout?: number;
    readonly nodePreference?: NodePreference;
  };
}

// The client's own forms of both parts.
const form = /^(?<scheme>[^:/]+:\/\/)(?<credentials>[^:]+:[^@]+@)?(?<rest>.*)$/s;
const settingNames = [
  'connectionName',
  'discoveryInterval',
  'gossipTimeout',
  'maxDiscoverAttempts',
  'keepAliveInterval',
  'keepAliveTimeout',
  'nodePreference',
] as const;

const require = createRequire(import.meta.url);
/** Loaded at its first use: every process reads its configuration, and few have an EventStoreDB. */
const parser = (): typeof Parser =>
  require('@eventstore/db-client/dist/Client/parseConnectionString.js') as typeof Parser;

/** @throws TypeError that says what is wrong and never quotes the credentials */
export function parseEventStoreDbUrl(text: string): EventStoreDbUrl {
  const { scheme, credentials, rest } = form.exec(text.trim())?.groups ?? {};
  if (scheme === undefined || rest === undefined)
    throw new TypeError('must begin with esdb:// or esdb+discover://');
  // Unrecognized parts of credentials would be quoted as a host.
  if (/^[^/?]*@/.test(rest))
    throw new TypeError(
      'the credentials must be user:password@, with special characters percent-encoded',
    );
  const options = parsed(`${scheme}${rest}`);
  if (options.userCertFile === undefined && options.userKeyFile !== undefined)
    throw new TypeError('userKeyFile needs userCertFile');
  if (options.userCertFile !== undefined && options.userKeyFile === undefined)
    throw new TypeError('userCertFile needs userKeyFile');
  const settings = Object.fromEntries(
    settingNames.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
  return {
    hosts: options.hosts.map(({ address, port }) => ({ host: address, port })),
    discover: options.dnsDiscover,
    credentials: credentials === undefined ? null : credentialsIn(credentials),
    tls: options.tls !== false,
    tlsCaFile: options.tlsCAFile,
    userCertFile: options.userCertFile,
    userKeyFile: options.userKeyFile,
    settings,
  };
}

function parsed(withoutCredentials: string) {
  try {
    return parser().parseConnectionString(withoutCredentials);
  } catch (error) {
    throw new TypeError(error instanceof Error ? error.message : String(error));
  }
}

/** The cause is left out: it quotes the password. */
function credentialsIn(credentials: string): Credentials {
  let found: Credentials | undefined;
  try {
    found = parser().parseConnectionString(`esdb://${credentials}host`).defaultCredentials;
  } catch {
    found = undefined;
  }
  if (found === undefined || credentials.split(':').length > 2)
    throw new TypeError(
      'the credentials must be user:password@, with special characters percent-encoded',
    );
  return found;
}
