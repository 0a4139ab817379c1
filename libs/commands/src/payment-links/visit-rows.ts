/**
 * In which row of the record a visit counts. The record grows with visitors and not with their requests:
 * - the same visits from one network with one user agent within a minute are one row;
 * - a network gets `rowsMax` rows an hour for each link. Its further visits are one row;
 * - the visits of an expired link from one network are one row an hour.
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

const rowsMax = 60;
/** Groups of rows that are remembered. Beyond, the count of their rows begins again. */
const groupsMax = 10_000;

/** Of an ISO 8601 time. */
const hourLength = 'YYYY-MM-DDTHH'.length;
const minuteLength = 'YYYY-MM-DDTHH:MM'.length;

export class VisitRows {
  private readonly secret = randomUUID();
  private readonly groups = new Map<string, Set<string>>();
  private hour = '';

  /** @param at ISO 8601 */
  idOf(
    { kind, outcome, paymentId, isExpired }: CountedVisit,
    { network, userAgent }: { readonly network: string; readonly userAgent: string | null },
    at: string,
  ): string {
    const hour = at.slice(0, hourLength);
    const common = [kind, outcome, paymentId, network];
    const ofHour = this.uuidOf([...common, hour]);
    if (isExpired) return ofHour;
    const ofMinute = this.uuidOf([...common, userAgent, at.slice(0, minuteLength)]);
    return this.hasRoom(ofHour, ofMinute, hour) ? ofMinute : ofHour;
  }

  private hasRoom(group: string, row: string, hour: string): boolean {
    if (hour !== this.hour || this.groups.size >= groupsMax) this.groups.clear();
    this.hour = hour;
    const rows = this.groups.get(group) ?? new Set();
    this.groups.set(group, rows);
    if (rows.size < rowsMax) rows.add(row);
    return rows.has(row);
  }

  private uuidOf(parts: readonly (string | null)[]): string {
    return uuidV5(JSON.stringify(parts), this.secret);
  }
}
