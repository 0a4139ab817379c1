/** The fee schedules of an organization: what its payments cost from their creation on. */
import { isDeepStrictEqual } from 'node:util';
import {
  feeSchedulesSchema,
  type FeeSchedulesView,
  feeSchedulesView,
  type Problem,
  problem,
  validate,
} from '@pis/contracts';
import {
  type FeeRule,
  type FeeRules,
  organization as organizations,
  originator as originators,
  type Refusal,
} from '@pis/domain';
import { againOnConflict, type EventStore, repository } from '@pis/event-store';
import type { OrganizationNotFound, ProvisioningContext } from './provisioning.js';
import { type InvalidRequest, invalidRequest, now } from './use-case.js';

export type OrganizationFeesRefusal = OrganizationNotFound | InvalidRequest;

/** Somebody else has set other schedules since they were shown. */
export type FeesChanged = Refusal<'FEES_CHANGED'>;

/**
 * Replaces all schedules. Payments that exist keep their fees.
 * @param input FeeSchedulesView
 * @throws StoreUnavailable
 */
export async function setOrganizationFees(
  { store, by }: ProvisioningContext,
  organizationId: string,
  input: unknown,
): Promise<FeeSchedulesView | OrganizationFeesRefusal> {
  const set = await replaceOrganizationFees({ store, by }, organizationId, input, null);
  if ('refused' in set && set.refused === 'FEES_CHANGED') throw new Error('nothing was compared');
  return set;
}

/**
 * As setOrganizationFees, but only what was shown is replaced.
 * @param shown null to replace whatever there is
 * @throws StoreUnavailable
 */
export async function replaceOrganizationFees(
  { store, by }: ProvisioningContext,
  organizationId: string,
  input: unknown,
  shown: FeeSchedulesView | null,
): Promise<FeeSchedulesView | OrganizationFeesRefusal | FeesChanged> {
  const validated = validate<{ readonly schedules: readonly FeeRule[] }>(feeSchedulesSchema, input);
  if (!validated.ok) return invalidRequest(validated.problems);
  const data: FeeRules = { rules: validated.value.schedules };
  const problems = await foreignOriginators(store, organizationId, data.rules);
  if (problems.length > 0) return invalidRequest(problems);
  const repo = repository(store, organizations);
  return againOnConflict(store, repo.streamIdOf(organizationId), async () => {
    const loaded = await repo.load(organizationId);
    if (loaded.state !== null && shown !== null && !isShown(feeSchedulesView(loaded.state), shown))
      return { refused: 'FEES_CHANGED' };
    const command = { type: 'SetOrganizationFees', at: now(), data } as const;
    const set = await repo.record(organizationId, loaded, [command], by);
    return 'refused' in set || set.state === null
      ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
      : feeSchedulesView(set.state);
  });
}

function isShown(current: FeeSchedulesView, shown: FeeSchedulesView): boolean {
  return isDeepStrictEqual(current.schedules, shown.schedules);
}

/** Those in force. @throws StoreUnavailable */
export async function organizationFees(
  store: EventStore,
  organizationId: string,
): Promise<FeeSchedulesView | OrganizationNotFound> {
  const { state } = await repository(store, organizations).load(organizationId);
  return state === null
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : feeSchedulesView(state);
}

/** A schedule of an originator that is not the organization's would never apply. */
async function foreignOriginators(
  store: EventStore,
  organizationId: string,
  rules: readonly FeeRule[],
): Promise<readonly Problem[]> {
  const named = rules.flatMap(({ originatorId }, at) =>
    originatorId === null ? [] : [{ originatorId, at }],
  );
  const ids = [...new Set(named.map(({ originatorId }) => originatorId))];
  const repo = repository(store, originators);
  const own = new Set<string>();
  for (const id of ids) {
    const { state } = await repo.load(id, organizationId);
    if (state?.organizationId === organizationId) own.add(id);
  }
  return named
    .filter(({ originatorId }) => !own.has(originatorId))
    .map(({ at }) =>
      problem(
        `schedules.${at}.originatorId`,
        'validation_enum',
        'is no originator of this organization',
      ),
    );
}
