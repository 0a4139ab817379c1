/** One message of each type and rail, as we write them and as banks answer. */
import type { Random } from '@pis/local-servers/testing';
import { railName, railText } from '../characters.js';
import { uetrOf } from '../identifiers.js';
import type {
  CreditTransfer,
  IsoAgent,
  IsoMessage,
  IsoRail,
  OriginalTransfer,
} from '../messages.js';
import type { IsoRailProfile, IsoSender } from '../profile.js';
import { profileOf } from '../profiles.js';

export const isoSender: IsoSender = {
  routingNumber: '021000021',
  bic: 'AAAAUS33XXX',
  participantId: null,
  isTest: true,
};

const at = new Date('2026-11-23T15:30:00.123Z');
const later = new Date('2026-11-23T15:30:02.000Z');
const day = '20261123';
const settlementDate = '2026-11-23';

export function sampleTransfer(
  rail: IsoRail,
  reference = '0123456789ABCDEFGHIJKL',
): CreditTransfer {
  const profile = profileOf(rail);
  const instructionId = profile.instructionId({
    day,
    identity: isoSender,
    code: 'ABCDEFGHIJ012345',
  });
  return {
    type: 'pacs.008',
    messageId: messageId(profile, `pacs.008 ${reference}`),
    createdAt: profile.dateTime(at),
    instructionId,
    endToEndId: reference,
    transactionId: profile.hasTransactionId ? instructionId : null,
    uetr: uetrOf(reference),
    amountMinor: 12_345_67,
    currencyCode: 'USD',
    settlementDate,
    isBusiness: profile.paymentType.categoryPurpose === null ? null : true,
    instructingAgent: ours(profile),
    instructedAgent: theirs(profile),
    debtor: {
      name: 'Acme Corp',
      address: {
        street: '1 Main Street',
        postalCode: '10001',
        town: 'New York',
        state: 'NY',
        country: 'US',
        lines: [],
      },
    },
    debtorAccount: '987654321098',
    debtorAgent: ours(profile),
    creditorAgent: theirs(profile),
    creditor: {
      name: 'Ada Lovelace & Sons',
      address: {
        street: '12 Rue de la Paix',
        postalCode: '75002',
        town: 'Paris',
        state: 'Ile-de-France',
        country: 'FR',
        lines: ['Batiment C'],
      },
    },
    creditorAccount: '7766554432',
    note: 'Invoice 2026-001 <net>',
  };
}

/** Every message about the sample transfer, in the order in which they could be sent. */
export function sampleMessages(rail: IsoRail): readonly IsoMessage[] {
  const profile = profileOf(rail);
  const transfer = sampleTransfer(rail);
  const original = originalOf(transfer, profile);
  const agents = {
    instructingAgent: transfer.instructingAgent,
    instructedAgent: transfer.instructedAgent,
  };
  const head = (name: string) => ({
    messageId: messageId(profile, name),
    createdAt: profile.dateTime(later),
  });
  const isRtp = profile.originals === 'RTP';
  return [
    transfer,
    {
      type: 'pacs.002',
      ...head('pacs.002'),
      original: isRtp ? { ...original, endToEndId: null } : original,
      status: profile.acceptedStatus,
      reason: null,
      acceptedAt: profile.dateTime(later),
      ...agents,
    },
    {
      type: 'pacs.002',
      ...head('pacs.002 rejected'),
      original: isRtp ? { ...original, endToEndId: null } : original,
      status: 'RJCT',
      reason: { code: 'AC04', proprietary: null, text: 'Account closed' },
      acceptedAt: profile.dateTime(later),
      ...agents,
    },
    {
      type: 'pacs.004',
      ...head('pacs.004'),
      returnId: 'RETURN1',
      original,
      originalAmountMinor: transfer.amountMinor,
      originalSettlementDate: settlementDate,
      returnedAmountMinor: transfer.amountMinor,
      currencyCode: 'USD',
      settlementDate: '2026-11-24',
      reason: { code: 'AC04', proprietary: null, text: null },
      instructingAgent: transfer.instructedAgent,
      instructedAgent: transfer.instructingAgent,
      debtor: { name: 'Ada Lovelace & Sons', address: null },
      creditor: { name: 'Acme Corp', address: null },
    },
    {
      type: 'pacs.028',
      ...head('pacs.028'),
      original: isRtp ? { ...original, endToEndId: null, uetr: null } : original,
      originalAmount: isRtp ? { amountMinor: transfer.amountMinor, currencyCode: 'USD' } : null,
      originalSettlementDate: isRtp ? settlementDate : null,
      ...agents,
    },
    {
      type: 'camt.056',
      ...head('camt.056'),
      caseId: 'CASE1',
      original,
      originalAmountMinor: transfer.amountMinor,
      currencyCode: 'USD',
      originalSettlementDate: settlementDate,
      reason: { code: 'CUST', proprietary: null, text: null },
      assigner: transfer.instructingAgent,
      assignee: transfer.instructedAgent,
    },
    {
      type: 'camt.029',
      ...head('camt.029'),
      caseId: 'CASE1',
      original,
      status: 'RJCR',
      reason: { code: 'ARDT', proprietary: null, text: null },
      assigner: transfer.instructedAgent,
      assignee: transfer.instructingAgent,
    },
  ];
}

export function originalOf(transfer: CreditTransfer, profile: IsoRailProfile): OriginalTransfer {
  return {
    messageId: transfer.messageId,
    messageName: profile.versions['pacs.008'],
    createdAt: transfer.createdAt,
    instructionId: transfer.instructionId,
    endToEndId: transfer.endToEndId,
    transactionId: transfer.transactionId,
    uetr: transfer.uetr,
  };
}

function messageId(profile: IsoRailProfile, seed: string): string {
  return profile.messageId({ day, identity: isoSender, seed, number: 42 });
}

const ours = ({ agents }: IsoRailProfile): IsoAgent =>
  agents === 'BIC'
    ? { routingNumber: null, bic: 'AAAAUS33XXX' }
    : { routingNumber: '021000021', bic: null };

const theirs = ({ agents }: IsoRailProfile): IsoAgent =>
  agents === 'BIC'
    ? { routingNumber: null, bic: 'BBBBFRPPXXX' }
    : { routingNumber: '011401533', bic: null };

/** Text of any planes: letters with and without marks, symbols, emoji, controls, markup. */
export function anyText(random: Random, max: number): string {
  const ranges = [
    [0x20, 0x7e],
    [0xa0, 0x24f],
    [0x370, 0x52f],
    [0x4e00, 0x4e50],
    [0x1f600, 0x1f640],
    [0x00, 0x1f],
    [0x300, 0x36f],
  ] as const;
  let text = '';
  for (let rest = random(max); rest > 0; rest -= 1) {
    const [from, to] = ranges[random(ranges.length)] ?? ranges[0];
    text += String.fromCodePoint(from + random(to - from + 1));
  }
  return text;
}

/** A transfer of any names, addresses, note and amount, spelled for the rails. */
export function randomTransfer(rail: IsoRail, random: Random): CreditTransfer {
  const base = sampleTransfer(rail);
  return {
    ...base,
    amountMinor: 1 + random(99_999_999_999),
    isBusiness: base.isBusiness === null ? null : random(2) === 0,
    debtor: { name: railName(anyText(random, 200)) ?? 'X', address: null },
    creditor: {
      name: railName(anyText(random, 200)) ?? 'X',
      address: {
        street: railText(anyText(random, 90), 70) || null,
        postalCode: railText(anyText(random, 20), 16) || null,
        town: railText(anyText(random, 50), 35) || 'X',
        state: railText(anyText(random, 50), 35) || null,
        country: 'US',
        lines: [],
      },
    },
    note: railText(anyText(random, 200), 140) || null,
  };
}
