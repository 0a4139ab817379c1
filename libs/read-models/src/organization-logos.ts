/** The logos of organizations, as files for browsers. */
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';

/** Every method throws StoreUnavailable. */
export class OrganizationLogos {
  constructor(private readonly pool: pg.Pool) {}

  /** The PNG with this digest; null if no organization shows it. */
  byDigest(digest: string): Promise<Buffer | null> {
    return this.find('SELECT logo FROM organizations WHERE logo_digest = $1 LIMIT 1', digest);
  }

  /** The PNG of an organization; null without one. */
  of(organizationId: string): Promise<Buffer | null> {
    return this.find('SELECT logo FROM organizations WHERE organization_id = $1', organizationId);
  }

  private async find(text: string, value: string): Promise<Buffer | null> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ logo: string | null }>(text, [value]),
    );
    const logo = rows[0]?.logo ?? null;
    return logo === null ? null : Buffer.from(logo, 'base64');
  }
}
