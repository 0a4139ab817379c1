/** The routing directory: the bank of a routing number, and the rails that reach it. */
import type { PaymentRail } from '@pis/domain';

export interface DirectoryEntry {
  readonly bankName: string;
  /** The rails that reach the bank; always with ACH, which reaches every US bank. */
  readonly rails: readonly PaymentRail[];
}

export interface RoutingDirectory {
  /** Null for a number that the directory does not have. @throws when the directory cannot be reached */
  find(routingNumber: string): Promise<DirectoryEntry | null>;
}

/** The participant lists that make up the directory. */
export const directoryKinds = ['fedach', 'fedwire', 'rtp', 'fednow'] as const;
export type DirectoryKind = (typeof directoryKinds)[number];

export const railOfKind = {
  fedach: 'ACH',
  fedwire: 'FEDWIRE',
  rtp: 'RTP',
  fednow: 'FEDNOW',
} as const satisfies Record<DirectoryKind, PaymentRail>;

/** A directory in memory. */
export function directoryOf(entries: ReadonlyMap<string, DirectoryEntry>): RoutingDirectory {
  return { find: (routingNumber) => Promise.resolve(entries.get(routingNumber) ?? null) };
}
