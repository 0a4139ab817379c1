/** The sandbox's demo organization, which all-in-one sets up at its first start. */
import {
  type Environment,
  organization as organizations,
  originator as originators,
} from '@pis/domain';
import { beginning, type EventStore, repository, systemContext } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import type { RoutingDirectory } from '@pis/bank-rails';
import { createApiKey, createOrganization, createOriginator } from './provisioning.js';
import { unrefused } from './use-case.js';

export interface DemoOrganization {
  readonly organizationId: string;
  /** Null when the organization already had one: a key is shown once. */
  readonly apiKey: string | null;
  readonly originatorIds: readonly string[];
}

/** The same ids on every start: that is how a start that was cut off finds what it had made. */
export const demoOrganizationId = '00000000-0000-4000-8000-00000000de00';
const demo = {
  organizationId: demoOrganizationId,
  name: 'Demo Organization',
  feeSchedule: { discountBasisPoints: 10, flatFeeMinor: 25, returnFeeMinor: 400 },
  originators: [
    {
      originatorId: '00000000-0000-4000-8000-00000000de01',
      input: {
        entityType: 'BUSINESS',
        companyName: 'Demo Trading LLC',
        email: 'treasury@demo-trading.example',
        phoneNumber: '+12125550100',
        legalAddress: {
          addressLine1: '1 Liberty Street',
          city: 'New York',
          state: 'NY',
          postalCode: '10005',
          countryCode: 'US',
        },
        bankAccount: {
          subType: 'CHECKING',
          achRoutingNumber: '021000021',
          achAccountNumber: '100020003000',
        },
      },
    },
    {
      originatorId: '00000000-0000-4000-8000-00000000de02',
      input: {
        entityType: 'INDIVIDUAL',
        firstName: 'Dana',
        lastName: 'Demo',
        email: 'dana@demo.example',
        bankAccount: {
          subType: 'SAVINGS',
          achRoutingNumber: '121000248',
          achAccountNumber: '400050006000',
        },
      },
    },
  ],
} as const;

/**
 * The demo organization with its two originators and one full-access key. Each step is skipped when
 * an earlier start has done it, so a start that was cut off anywhere is completed by the next.
 */
export async function bootstrapDemoOrganization(options: {
  readonly store: EventStore;
  readonly keyring: Keyring;
  readonly banks: RoutingDirectory;
  readonly environment: Environment;
  /** The first key's value instead of a random one. */
  readonly apiKey?: string | undefined;
  /**
   * Called before the key is made, so only for a new organization. It is called again by the next start when this one
   * dies before the key exists.
   */
  readonly beforeKey?: (demo: Omit<DemoOrganization, 'apiKey'>) => Promise<void>;
}): Promise<DemoOrganization> {
  const { store, keyring, banks, environment, beforeKey } = options;
  const { organizationId, name, feeSchedule } = demo;
  const context = { store, by: systemContext('bootstrap') };
  const missing = await idsMissing(store, [
    organizationId,
    ...demo.originators.map(({ originatorId }) => originatorId),
  ]);
  if (missing.has(organizationId))
    unrefused(await createOrganization(context, { organizationId, name, feeSchedule }));
  for (const { originatorId, input } of demo.originators) {
    if (!missing.has(originatorId)) continue;
    const created = { organizationId, originatorId, input, keyring, banks };
    unrefused(await createOriginator(context, created));
  }
  const originatorIds = demo.originators.map(({ originatorId }) => originatorId);
  const existing = await hasApiKey(store, organizationId);
  if (!existing) await beforeKey?.({ organizationId, originatorIds });
  const created = existing
    ? null
    : unrefused(
        await createApiKey(context, {
          organizationId,
          type: 'full_access',
          environment,
          apiKey: options.apiKey,
        }),
      );
  return {
    organizationId,
    apiKey: created?.apiKey ?? null,
    originatorIds,
  };
}

/** The first id is the organization's, the others are originators'. */
async function idsMissing(store: EventStore, ids: readonly string[]): Promise<Set<string>> {
  const streams = ids.map((id, at) =>
    at === 0
      ? repository(store, organizations).streamIdOf(id)
      : repository(store, originators).streamIdOf(id),
  );
  const found = await store.readStreams(streams);
  return new Set(ids.filter((_, at) => found[at]?.length === 0));
}

const pageMax = 100;

/** Read from the log, where the demo's own key is the first: no index of keys has to be current. */
async function hasApiKey(store: EventStore, organizationId: string): Promise<boolean> {
  for (let after = beginning; ; ) {
    const page = await store.readLog({ after, streamPrefixes: ['apiKey-'], pageMax });
    if (page.events.some(({ data }) => data['organizationId'] === organizationId)) return true;
    if (page.events.length === 0 && page.position === after) return false;
    after = page.position;
  }
}
