/**
 * What the attempts of each organization take, so that no organization keeps others from beginning theirs.
 *
 * An endpoint that has answered quickly so far may hang from now on, and any number of them at once. So the
 * attempts under way to quick endpoints count as well: together with the slow and unknown ones, they never take
 * all slow slots.
 */
export interface OrganizationLimits {
  /** Attempts of one organization to its slow and unknown endpoints. */
  readonly slowPerOrganizationMax: number;
  /** The same, with those under way to its quick endpoints. All of these may turn out to be slow. */
  readonly underWayPerOrganizationMax: number;
}

/** `slow`: it is slow or its endpoint is unknown. `quick`: it is under way to a quick endpoint. */
export type ShareKind = 'slow' | 'quick';

export class OrganizationShares {
  /** Only organizations that have any. */
  private readonly taken: Record<ShareKind, Map<string, number>> = {
    slow: new Map(),
    quick: new Map(),
  };

  constructor(private readonly limits: OrganizationLimits) {}

  add(organizationId: string, kind: ShareKind, change: 1 | -1): void {
    const of = this.taken[kind];
    const taken = (of.get(organizationId) ?? 0) + change;
    if (taken === 0) of.delete(organizationId);
    else of.set(organizationId, taken);
  }

  /** How many attempts of that kind the organization may begin now, however many slots are free. */
  left(organizationId: string, kind: ShareKind): number {
    const { slowPerOrganizationMax, underWayPerOrganizationMax } = this.limits;
    const slow = this.taken.slow.get(organizationId) ?? 0;
    const quick = this.taken.quick.get(organizationId) ?? 0;
    const underWay = underWayPerOrganizationMax - slow - quick;
    return Math.max(
      0,
      kind === 'quick' ? underWay : Math.min(slowPerOrganizationMax - slow, underWay),
    );
  }
}
