/**
 * In which row of the record a visit counts. The record grows with visitors and not with their requests:
 * - the same visits from one network with one user agent within a minute are one row;
 * - a network gets `networkRowsMax` rows an hour for each link. Its further visits are one row;
 * - the visits of an expired link from one network are one row an hour;
 * - a link gets `linkRowsMax` rows an hour, because one attacker can have any number of networks. Its further visits are
 *   one row.
 *
 * The ID of a row is made from a secret of this process, so no ID says who visited. Several processes have rows of
 * their own. The visitor of a row is its first one.
 */
import { randomUUID } from 'node:crypto';
import { v5 as uuidV5 } from 'uuid';

/** What the visits of one row have in common, beside the time and the user agent. */
export interface CountedVisit {
  readonly kind: 'open' | 'submit';
  readonly outcome: string | null;
  readonly paymentId: string;
  /** Whether a visitor of this link gets one row an hour. */
  readonly isExpired: boolean;
}

const networkRowsMax = 60;
const linkRowsMax = 600;
/** Of all groups. Beyond, the count of their rows begins again. */
const rememberedMax = 500_000;

/** Of an ISO 8601 time. */
const hourLength = 'YYYY-MM-DDTHH'.length;
const minuteLength = 'YYYY-MM-DDTHH:MM'.length;

export class VisitRows {
  private readonly secret = randomUUID();
  private readonly ofNetworks = new RowGroups(networkRowsMax);
  private readonly ofLinks = new RowGroups(linkRowsMax);

  /** @param at ISO 8601 */
  idOf(
    { kind, outcome, paymentId, isExpired }: CountedVisit,
    { network, userAgent }: { readonly network: string; readonly userAgent: string | null },
    at: string,
  ): string {
    const hour = at.slice(0, hourLength);
    const common = [kind, outcome, paymentId, network];
    const ofNetwork = this.uuidOf([...common, hour]);
    const ofMinute = this.uuidOf([...common, userAgent, at.slice(0, minuteLength)]);
    const hasOwn = !isExpired && this.ofNetworks.hasRoom(ofNetwork, ofMinute, hour);
    const row = hasOwn ? ofMinute : ofNetwork;
    const ofLink = this.uuidOf([kind, outcome, paymentId, hour]);
    return this.ofLinks.hasRoom(ofLink, row, hour) ? row : ofLink;
  }

  private uuidOf(parts: readonly (string | null)[]): string {
    return uuidV5(JSON.stringify(parts), this.secret);
  }
}

/** Which rows belong together in an hour. A group has so many. */
class RowGroups {
  private readonly groups = new Map<string, Set<string>>();
  private hour = '';
  private remembered = 0;

  constructor(private readonly rowsMax: number) {}

  /** Whether the row is one of its group, or can become one. */
  hasRoom(group: string, row: string, hour: string): boolean {
    if (hour !== this.hour || this.remembered >= rememberedMax) {
      this.groups.clear();
      this.remembered = 0;
    }
    this.hour = hour;
    const rows = this.groups.get(group) ?? new Set();
    this.groups.set(group, rows);
    if (rows.has(row)) return true;
    if (rows.size >= this.rowsMax) return false;
    rows.add(row);
    this.remembered += 1;
    return true;
  }
}
