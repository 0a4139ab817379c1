/** The use cases and lists of the dashboard: the same as the API's. */
import type { Provider } from '@nestjs/common';
import { prenoteConnectionOf } from '@pis/bank-rails/ach';
import { restoredAt } from '@pis/bank-rails/connections';
import { openRoutingDirectory } from '@pis/bank-rails/directory';
import { reportByHand } from '@pis/bank-rails/sandbox';
import {
  ContactAccounts,
  ContactDirectory,
  OriginatorDirectory,
  PaymentApprovals,
  PaymentLinks,
  PaymentSimulation,
  WebhookEndpointDirectory,
} from '@pis/commands';
import { type EventStore, StreamStates } from '@pis/event-store';
import { Cursors, DirectoryLists, OwnWrites, ServedWebhookTests } from '@pis/http-api';
import type { Keyring } from '@pis/keyring';
import {
  type DirectoryQuery,
  directoryQuery,
  orUnavailable,
  PaymentLinkAccesses,
  PaymentLinkTable,
  type PaymentsQuery,
  paymentsQuery,
  projectionProgress,
} from '@pis/read-models';
import {
  configuredBanks,
  EVENT_STORE,
  KEYRING,
  LOGGER,
  ownHosts,
  type OwnHostsConfig,
  PG_POOL,
  type ProcessConfig,
  streamStates,
  webhookReceiverCa,
  type WebhooksConfig,
} from '@pis/service-kit';
import { type DeliveryLog, deliveryLog } from '@pis/webhook-deliveries';
import type { WebhookUrlOptions } from '@pis/webhooks';
import type pg from 'pg';

export type UseCaseConfig = OwnHostsConfig &
  WebhooksConfig &
  Pick<ProcessConfig, 'PIS_ENVIRONMENT'>;

export interface UseCases {
  readonly links: PaymentLinks;
  readonly approvals: PaymentApprovals;
  readonly simulation: PaymentSimulation;
  readonly contacts: ContactDirectory;
  readonly accounts: ContactAccounts;
  readonly originators: OriginatorDirectory;
  readonly endpoints: WebhookEndpointDirectory;
  readonly payments: PaymentsQuery;
  readonly directory: DirectoryQuery;
  readonly deliveries: DeliveryLog;
  readonly cursors: Cursors;
  readonly ownWrites: OwnWrites;
  readonly lists: DirectoryLists;
}

export const USE_CASES = Symbol('UseCases');
/** The addresses that webhooks may reach, and the rails with a bank. */
const BANKS_AND_URLS = Symbol('BanksAndUrls');

interface BanksAndUrls {
  readonly rails: Dependencies['rails'];
  readonly urls: WebhookUrlOptions;
}

export function useCases(config: UseCaseConfig): Provider[] {
  return [
    { provide: StreamStates, inject: [PG_POOL, KEYRING, LOGGER], useFactory: streamStates },
    // The CA file is read at once: a missing one must not wait for the first webhook.
    { provide: BANKS_AND_URLS, useFactory: banksAndUrls(config) },
    {
      provide: ServedWebhookTests,
      inject: [KEYRING, BANKS_AND_URLS],
      useFactory: (keyring: Keyring, { urls }: BanksAndUrls) =>
        new ServedWebhookTests(keyring, { ...urls, timeoutMs: config.PIS_WEBHOOK_TIMEOUT_MS }),
    },
    {
      provide: USE_CASES,
      inject: [EVENT_STORE, KEYRING, PG_POOL, StreamStates, BANKS_AND_URLS],
      useFactory: (
        store: EventStore,
        keyring: Keyring,
        pool: pg.Pool,
        states: StreamStates,
        { rails, urls }: BanksAndUrls,
      ): UseCases => {
        const banks = openRoutingDirectory(pool, config.PIS_ENVIRONMENT);
        return casesOn(pool, { store, keyring, states, banks, rails, urls });
      },
    },
  ];
}

function banksAndUrls(config: UseCaseConfig): () => Promise<BanksAndUrls> {
  const receivers = webhookReceiverCa(config);
  const egressProxy = config.PIS_WEBHOOK_EGRESS_PROXY;
  return async () => {
    const { rails, hosts } = await configuredBanks(config);
    const urls: WebhookUrlOptions = {
      allowedNetworks: config.PIS_WEBHOOK_ALLOWED_NETWORKS,
      ownHosts: [...ownHosts(config), ...hosts],
      ...(egressProxy === undefined ? {} : { egressProxy }),
      ...receivers,
    };
    return { rails, urls };
  };
}

type Dependencies = Omit<
  ConstructorParameters<typeof PaymentLinks>[0],
  'ownWrites' | 'table' | 'accesses' | 'publicUrl'
> & { readonly urls: WebhookUrlOptions };

function casesOn(pool: pg.Pool, dependencies: Dependencies): UseCases {
  const { store, keyring } = dependencies;
  const ownWrites = new OwnWrites({
    payments: projectionProgress(pool, 'payments'),
    directory: projectionProgress(pool, 'directory'),
    events: projectionProgress(pool, 'events'),
  });
  const cursors = new Cursors(keyring);
  const all = {
    ...{ ...dependencies, ownWrites },
    restoredAt: () => orUnavailable(() => restoredAt(pool)),
  };
  const contacts = new ContactDirectory(all);
  const links = new PaymentLinks({
    ...all,
    table: new PaymentLinkTable(pool),
    accesses: new PaymentLinkAccesses(pool),
    // The handlers put the address of the dashboard before it.
    publicUrl: '',
  });
  return {
    links,
    approvals: new PaymentApprovals({ ...all, links }),
    simulation: new PaymentSimulation({
      store,
      ownWrites,
      report: (reference, report) => reportByHand(pool, reference, report),
    }),
    contacts,
    accounts: new ContactAccounts({
      ...all,
      contacts,
      prenoteConnection: (reference) => prenoteConnectionOf(pool, reference),
    }),
    originators: new OriginatorDirectory(all),
    endpoints: new WebhookEndpointDirectory(all),
    payments: paymentsQuery(pool),
    directory: directoryQuery(pool),
    deliveries: deliveryLog(pool),
    cursors,
    ownWrites,
    lists: new DirectoryLists(cursors, ownWrites),
  };
}
