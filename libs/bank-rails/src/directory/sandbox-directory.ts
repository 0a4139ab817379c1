/**
 * The directory that ships for the sandbox. The names are the banks' own. Which rails reach which number is
 * made up, so that the sandbox has banks of every kind.
 */
import type { PaymentRail } from '@pis/domain';
import { type DirectoryEntry, directoryOf, type RoutingDirectory } from './routing-directory.js';
import { bankNames } from './sandbox-directory.data.js';

const railsOf: Readonly<Record<string, readonly PaymentRail[]>> = {
  '021000021': ['ACH', 'RTP', 'FEDNOW', 'FEDWIRE'],
  '026009593': ['ACH', 'RTP', 'FEDWIRE'],
  '121000248': ['ACH', 'FEDNOW', 'FEDWIRE'],
  '322271627': ['ACH', 'FEDWIRE'],
  '011401533': ['ACH'],
  '110000000': ['ACH', 'RTP'],
  '101050001': ['ACH', 'FEDNOW'],
};
/** Every other number. */
const otherRails: readonly PaymentRail[] = ['ACH', 'FEDWIRE'];

export const sandboxEntries: ReadonlyMap<string, DirectoryEntry> = new Map(
  Object.entries(bankNames).map(([routingNumber, bankName]) => [
    routingNumber,
    { bankName, rails: railsOf[routingNumber] ?? otherRails },
  ]),
);

export const sandboxDirectory: RoutingDirectory = directoryOf(sandboxEntries);
