/** RTP of The Clearing House: the 2019 versions that it has used since 2023, head.001.001.01. */
import { derivedText, easternDateTime } from '../iso20022/identifiers.js';
import { fixedLength, type IsoIdentity, type IsoRailProfile } from '../iso20022/profile.js';

const participant = ({ participantId, routingNumber }: IsoIdentity): string =>
  fixedLength(participantId ?? `${routingNumber}S1`, 11).toUpperCase();

export const rtpProfile: IsoRailProfile = {
  rail: 'RTP',
  versions: {
    'pacs.008': 'pacs.008.001.08',
    'pacs.002': 'pacs.002.001.10',
    // RTP has no return message: money comes back as a new pacs.008. Banks that report it do it so.
    'pacs.004': 'pacs.004.001.10',
    'pacs.028': 'pacs.028.001.03',
    'camt.056': 'camt.056.001.08',
    'camt.029': 'camt.029.001.09',
  },
  header: {
    version: 'head.001.001.01',
    to: '990000001S1',
    businessService: null,
    marketPractice: null,
  },
  settlement: { method: 'CLRG', clearingSystem: 'TCH' },
  paymentType: {
    serviceLevel: 'SDVA',
    localInstrument: 'STANDARD',
    categoryPurpose: { business: 'BUSINESS', consumer: 'CONSUMER' },
  },
  chargeBearer: 'SLEV',
  agents: 'member',
  hasGroupTotals: true,
  hasInstructedAmount: false,
  hasTransactionId: true,
  originals: 'RTP',
  addressNeeds: ['street', 'postalCode', 'state'],
  requiresContactAddress: false,
  acceptedStatus: 'ACTC',
  alsoAccepted: ['ACTC'],
  participantIdLength: 11,
  countsMessages: false,
  dateTime: easternDateTime,
  messageId: ({ day, identity, seed }) =>
    `M${day}${participant(identity)}${derivedText(seed, 15, 36)}`,
  instructionId: ({ day, identity, code }) => day + participant(identity) + code,
};
