/**
 * The connections to banks that PIS_BANKS_FILE describes: ACH as files over SFTP, the other rails as messages
 * over HTTPS. Nothing is connected before it is used, so a bank that is down does not keep the app from starting.
 */
import { type NamedConnection, railOpensAt } from '@pis/bank-rails';
import { httpBankConnection } from '@pis/bank-rails/http';
import { achBank, atOnceSchedule, cutoffSchedule } from '@pis/bank-rails/ach';
import {
  type BankConnectionConfig,
  BanksFileInvalid,
  railsWithoutBank,
  readBanksFile,
} from '@pis/bank-rails/banks';
import {
  BankSecretMissing,
  fileArchive,
  type FileTransport,
  type MessageTransport,
  openFileTransport,
  openMessageTransport,
} from '@pis/bank-rails/connections';
import { isoBank, isoRails } from '@pis/bank-rails/iso20022';
import { settlementPartyId, unreachable } from '@pis/domain';
import type { Keyring } from '@pis/keyring';
import { ConfigurationError, type Logger } from '@pis/service-kit';
import type pg from 'pg';
import { NotificationTable } from './notification-table.js';

/** What a connection needs besides the way to the bank. */
export interface BankResources {
  readonly environment: 'sandbox' | 'production';
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly logger: Logger;
}

export interface ConfiguredBanksOptions extends BankResources {
  /** Of PIS_BANKS_FILE. */
  readonly file: string;
  /** The environment variables that hold secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The way to a bank. */
export type BankTransport =
  | { readonly files: FileTransport }
  | { readonly messages: MessageTransport };

const minuteMs = 60_000;
/** The simulated bank is patient, and whoever tries it out is not. */
const sandboxInquiryEveryMs = 1_000;
/** A report by hand comes from another process: nothing in this one hints at it. */
const sandboxInboxPollMs = 10_000;

/** @throws ConfigurationError with every mistake in the file, or the first secret that is missing */
export async function configuredBanks(
  options: ConfiguredBanksOptions,
): Promise<readonly NamedConnection[]> {
  try {
    const banks = await readBanksFile(options.file, options);
    const rails = railsWithoutBank(banks);
    if (rails.length > 0) options.logger.warn({ rails }, 'no bank takes these rails');
    const opened: NamedConnection[] = [];
    for (const config of banks.connections) opened.push(await open(config, options));
    return opened;
  } catch (error) {
    if (error instanceof BanksFileInvalid)
      throw new ConfigurationError(error.problems.map((one) => `PIS_BANKS_FILE: ${one}`));
    if (error instanceof BankSecretMissing)
      throw new ConfigurationError([`PIS_BANKS_FILE: ${error.message}`]);
    throw error;
  }
}

async function open(
  config: BankConnectionConfig,
  options: ConfiguredBanksOptions,
): Promise<NamedConnection> {
  const { protocol, name, rails, terms } = config;
  const { env, logger } = options;
  const warn = (message: string) => logger.warn({ connection: name }, message);
  switch (protocol.kind) {
    case 'sftp': {
      const files = await openFileTransport(protocol, { name, env, warn });
      return bankOver(config, { files }, options);
    }
    case 'https': {
      const messages = await openMessageTransport(protocol, { name, env });
      return bankOver(config, { messages }, options);
    }
    case 'json': {
      const { baseUrl } = protocol;
      return { name, rails, connection: httpBankConnection({ baseUrl, terms }) };
    }
    default:
      return unreachable(protocol);
  }
}

/**
 * The bank on the other side of a transport: by files it takes ACH, by messages the other rails. The simulated bank
 * takes everything at all hours.
 */
export function bankOver(
  config: Omit<BankConnectionConfig, 'bank' | 'protocol'>,
  transport: BankTransport,
  { environment, pool, keyring, logger }: BankResources,
): NamedConnection {
  const { name, rails, terms, cutoffs, ach, iso } = config;
  const common = { name, pool, terms, archive: fileArchive({ pool, keyring }) };
  if ('files' in transport) {
    if (ach === null) throw new Error(`${name}: no identity for ACH`);
    const connection = achBank({
      ...common,
      keyring,
      transport: transport.files,
      identity: ach,
      schedule:
        environment === 'sandbox'
          ? atOnceSchedule(cutoffs)
          : cutoffSchedule(cutoffs, ach.buildLeadMinutes * minuteMs),
      log: logger,
      ...(environment === 'sandbox' && {
        limits: {
          ...{ inquiryFileEveryMs: sandboxInquiryEveryMs, inboxPollMs: sandboxInboxPollMs },
          removeAfterMs: 0,
        },
      }),
    });
    const start = () => connection.start();
    // The simulated bank takes collections under any company.
    if (environment === 'sandbox') return { name, rails, connection, start };
    const { companies } = ach;
    const lacksFor = (organizationId: string) =>
      organizationId !== settlementPartyId || Object.hasOwn(companies, organizationId)
        ? null
        : `the connection "${name}" of PIS_BANKS_FILE has no company for ${organizationId} in ach.companies`;
    return { name, rails, connection, start, lacksFor };
  }
  if (iso === null) throw new Error(`${name}: no identity for messages`);
  const connection = isoBank({
    ...common,
    transport: transport.messages,
    identity: iso,
    rails: isoRails.filter((rail) => rails.includes(rail)),
    isTest: environment === 'sandbox',
    cutoffs,
    keepNotification: (notification) => new NotificationTable(pool, name).add(notification),
  });
  if (environment === 'sandbox') return { name, rails, connection };
  const opensAt: NamedConnection['opensAt'] = (rail, atMs) => railOpensAt(rail, atMs, cutoffs);
  return { name, rails, connection, opensAt };
}
