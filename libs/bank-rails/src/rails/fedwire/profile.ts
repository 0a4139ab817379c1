/** Fedwire Funds Service, Release 2025 as changed in November 2026 (hybrid addresses), head.001.001.03. */
import { offsetDateTime } from '../iso20022/identifiers.js';
import { fixedLength, type IsoRailProfile } from '../iso20022/profile.js';

export const fedwireProfile: IsoRailProfile = {
  rail: 'FEDWIRE',
  versions: {
    'pacs.008': 'pacs.008.001.08',
    'pacs.002': 'pacs.002.001.10',
    'pacs.004': 'pacs.004.001.10',
    'pacs.028': 'pacs.028.001.03',
    'camt.056': 'camt.056.001.08',
    'camt.029': 'camt.029.001.09',
  },
  header: {
    version: 'head.001.001.03',
    to: '021151080',
    businessService: (isTest) => (isTest ? 'TEST' : 'PROD'),
    marketPractice: {
      registry:
        'www2.swift.com/mystandards/#/group/Federal_Reserve_Financial_Services/Fedwire_Funds_Service',
      id: 'frb.fedwire.01',
    },
  },
  settlement: { method: 'CLRG', clearingSystem: 'FDW' },
  paymentType: { serviceLevel: null, localInstrument: 'CTRC', categoryPurpose: null },
  chargeBearer: 'SLEV',
  agents: 'USABA',
  hasGroupTotals: false,
  hasInstructedAmount: true,
  hasTransactionId: false,
  originals: 'ISO',
  addressNeeds: [],
  requiresContactAddress: false,
  acceptedStatus: 'ACSC',
  alsoAccepted: [],
  participantIdLength: 8,
  countsMessages: true,
  dateTime: offsetDateTime,
  // The IMAD: date, source, number of the message on that day.
  messageId: ({ day, identity, number }) =>
    day +
    fixedLength(identity.participantId ?? identity.routingNumber, 8).toUpperCase() +
    String(number).padStart(6, '0'),
  instructionId: ({ code }) => code,
};
