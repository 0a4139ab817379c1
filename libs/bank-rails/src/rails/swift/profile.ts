/**
 * SWIFT, CBPR+ of Standards Release 2026. pacs.028 is no message of CBPR+ (gpi tracking and camt.110 took its
 * place): between us and our bank it asks the bank for the status that it knows.
 */
import { derivedText, offsetDateTime } from '../iso20022/identifiers.js';
import type { IsoRailProfile } from '../iso20022/profile.js';

export const swiftProfile: IsoRailProfile = {
  rail: 'SWIFT',
  versions: {
    'pacs.008': 'pacs.008.001.08',
    'pacs.002': 'pacs.002.001.10',
    'pacs.004': 'pacs.004.001.09',
    'pacs.028': 'pacs.028.001.03',
    'camt.056': 'camt.056.001.08',
    'camt.029': 'camt.029.001.09',
  },
  header: {
    version: 'head.001.001.02',
    to: null,
    businessService: () => 'swift.cbprplus.04',
    marketPractice: null,
  },
  settlement: { method: 'INDA', clearingSystem: null },
  paymentType: { serviceLevel: null, localInstrument: null, categoryPurpose: null },
  chargeBearer: 'SHAR',
  agents: 'BIC',
  hasGroupTotals: false,
  hasInstructedAmount: true,
  hasTransactionId: false,
  originals: 'ISO',
  addressNeeds: [],
  requiresContactAddress: true,
  acceptedStatus: 'ACCC',
  alsoAccepted: [],
  participantIdLength: null,
  countsMessages: false,
  dateTime: offsetDateTime,
  messageId: ({ day, seed }) => day + derivedText(seed, 24, 36),
  instructionId: ({ code }) => code,
};
