/**
 * What pages show of organizations. A profile is read again after `ageMaxMs`: many views of many links need the same
 * few profiles, and each read is a question to the log.
 */
import type { LogoRecord, Organization } from '@pis/domain';

export interface OrganizationProfile {
  /** Empty for an organization that cannot be found. */
  readonly name: string;
  /** Null without one. */
  readonly logo: LogoRecord | null;
}

interface Kept {
  readonly profile: Promise<OrganizationProfile>;
  readonly readAtMs: number;
}

const ageMaxMs = 5_000;
/** Beyond, all are read again. */
const profilesMax = 10_000;

export class OrganizationProfiles {
  private readonly kept = new Map<string, Kept>();

  constructor(
    private readonly load: (organizationId: string) => Promise<Organization | null>,
    /** Milliseconds since any point in time. */
    private readonly clockMs: () => number = () => performance.now(),
  ) {}

  /** At most `ageMaxMs` old. @throws StoreUnavailable */
  of(organizationId: string): Promise<OrganizationProfile> {
    const known = this.kept.get(organizationId);
    if (known !== undefined && this.clockMs() - known.readAtMs < ageMaxMs) return known.profile;
    const read = { profile: this.read(organizationId), readAtMs: this.clockMs() };
    if (this.kept.size >= profilesMax) this.kept.clear();
    this.kept.set(organizationId, read);
    // A failure is not kept. It reaches every caller that waits for this read.
    read.profile.catch(() => {
      if (this.kept.get(organizationId) === read) this.kept.delete(organizationId);
    });
    return read.profile;
  }

  private async read(organizationId: string): Promise<OrganizationProfile> {
    const organization = await this.load(organizationId);
    return { name: organization?.name ?? '', logo: organization?.logo ?? null };
  }
}
