/** FedNow Service, Release 1 (2024 to 2026): pacs.008.001.08 and its companions, head.001.001.02. */
import { derivedText, offsetDateTime } from '../iso20022/identifiers.js';
import { fixedLength, type IsoRailProfile } from '../iso20022/profile.js';

export const fednowProfile: IsoRailProfile = {
  rail: 'FEDNOW',
  versions: {
    'pacs.008': 'pacs.008.001.08',
    'pacs.002': 'pacs.002.001.10',
    'pacs.004': 'pacs.004.001.10',
    'pacs.028': 'pacs.028.001.03',
    'camt.056': 'camt.056.001.08',
    'camt.029': 'camt.029.001.09',
  },
  header: {
    version: 'head.001.001.02',
    to: '021150706',
    businessService: null,
    marketPractice: {
      registry:
        'www2.swift.com/mystandards/#/group/Federal_Reserve_Financial_Services/FedNow_Service',
      id: 'frb.fednow.01',
    },
  },
  settlement: { method: 'CLRG', clearingSystem: 'FDN' },
  paymentType: {
    serviceLevel: null,
    localInstrument: 'FDNA',
    categoryPurpose: { business: 'BIZZ', consumer: 'CONS' },
  },
  chargeBearer: 'SLEV',
  agents: 'USABA',
  hasGroupTotals: false,
  hasInstructedAmount: false,
  hasTransactionId: false,
  originals: 'ISO',
  addressNeeds: ['postalCode', 'state'],
  requiresContactAddress: false,
  acceptedStatus: 'ACSC',
  alsoAccepted: [],
  participantIdLength: 9,
  countsMessages: false,
  dateTime: offsetDateTime,
  // Date, connection party, then up to 18 letters and digits.
  messageId: ({ day, identity, seed }) =>
    day +
    fixedLength(identity.participantId ?? identity.routingNumber, 9) +
    derivedText(seed, 18, 62),
  instructionId: ({ code }) => code,
};
