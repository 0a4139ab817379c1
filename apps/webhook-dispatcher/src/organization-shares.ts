/**
 * What the attempts of each organization take, so that no organization keeps others from beginning theirs.
 *
 * An organization takes slow slots only while at least as many are left. So one takes half of them at most, two a third
 * each, and however many take all they may, about as many as each of them has are left for the next one.
 *
 * An endpoint that has answered quickly so far may hang from now on, and any number of them at once. So the
 * attempts under way to quick endpoints count as well: together with the slow and unknown ones, they never take
 * all slow slots.
 */
export interface OrganizationLimits {
  /** Slow slots of all organizations together. */
  readonly slowMax: number;
  /** Attempts of one organization to its slow and unknown endpoints. */
  readonly slowPerOrganizationMax: number;
  /** The same, with those under way to its quick endpoints. All of these may turn out to be slow. */
  readonly underWayPerOrganizationMax: number;
}

/** `slow`: it is slow or its endpoint is unknown. `quick`: it is under way to a quick endpoint. */
export type ShareKind = 'slow' | 'quick';

/** Attempts to slow and unknown endpoints that are about to begin. */
export interface Planned {
  readonly ofAll: number;
  /** Those of the organization. */
  readonly own: number;
}

export const nothingPlanned: Planned = { ofAll: 0, own: 0 };

export class OrganizationShares {
  /** Only organizations that have any. */
  private readonly taken: Record<ShareKind, Map<string, number>> = {
    slow: new Map(),
    quick: new Map(),
  };
  private slowInAll = 0;

  constructor(private readonly limits: OrganizationLimits) {}

  add(organizationId: string, kind: ShareKind, change: 1 | -1): void {
    if (kind === 'slow') this.slowInAll += change;
    const of = this.taken[kind];
    const taken = (of.get(organizationId) ?? 0) + change;
    if (taken === 0) of.delete(organizationId);
    else of.set(organizationId, taken);
  }

  /** How many attempts of that kind the organization may begin now, however many slots are free. */
  left(organizationId: string, kind: ShareKind, planned = nothingPlanned): number {
    const { slowMax, slowPerOrganizationMax, underWayPerOrganizationMax } = this.limits;
    const quick = this.taken.quick.get(organizationId) ?? 0;
    const slow = (this.taken.slow.get(organizationId) ?? 0) + planned.own;
    const underWay = underWayPerOrganizationMax - slow - quick;
    if (kind === 'quick') return Math.max(0, underWay);
    const free = slowMax - this.slowInAll - planned.ofAll;
    // Each one that begins is one more of its own, and one less for others.
    const fair = Math.ceil((free - slow) / 2);
    return Math.max(0, Math.min(slowPerOrganizationMax - slow, underWay, fair));
  }
}
