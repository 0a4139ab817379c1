import { simulatedBankTerms } from '../bank-connection.js';
import { alwaysOpen, defaultCutoffs } from '../calendar/rail-hours.js';
import type { AchIdentity, BankConnectionConfig } from './bank-config.js';
import { offeredRails } from './offered-rails.js';

const json = { kind: 'json', baseUrl: 'http://127.0.0.1:1' } as const;
const connection = (changes: Partial<BankConnectionConfig>): BankConnectionConfig => ({
  bank: 'bank',
  name: 'connection',
  rails: ['ACH'],
  protocol: json,
  terms: simulatedBankTerms,
  cutoffs: defaultCutoffs,
  ach: null,
  iso: null,
  ...changes,
});
const ach: AchIdentity = {
  odfiRoutingNumber: '021000021',
  immediateOrigin: '1234567890',
  immediateOriginName: 'ORIGIN',
  immediateDestination: '021000021',
  immediateDestinationName: 'BANK',
  company: { name: 'COMPANY', id: '1234567890' },
  companies: {},
  consumerDebits: 'WEB',
  buildLeadMinutes: 20,
  acknowledgementMinutes: 60,
  inquiries: false,
  prenotes: false,
  limits: { entriesPerFileMax: 1, amountPerFileMaxMinor: 1 },
};

describe('the rails that the banks offer', () => {
  it('are those of all connections', () => {
    const connections = [connection({}), connection({ rails: ['SWIFT', 'RTP'] })];
    expect(offeredRails({ connections }).connectedRails).toEqual(['ACH', 'RTP', 'SWIFT']);
  });

  it('have the cutoffs of the first bank of each rail, ACH before its file is built', () => {
    const first = {
      sameDay: ['09:00', '14:10'],
      standard: '18:05',
      fedwire: '16:00',
      swift: '15:00',
    };
    const connections = [
      connection({ cutoffs: first, ach }),
      connection({ rails: ['ACH', 'FEDWIRE'], cutoffs: { ...defaultCutoffs, fedwire: '17:00' } }),
    ];
    expect(offeredRails({ connections }).cutoffs).toEqual({
      sameDay: ['08:40', '13:50'],
      standard: '17:45',
      fedwire: '17:00',
      swift: defaultCutoffs.swift,
    });
  });

  it('take no ACH payment that the bank takes in no file', () => {
    const limits = { entriesPerFileMax: 1, amountPerFileMaxMinor: 5_000 };
    const offered = offeredRails({ connections: [connection({ ach: { ...ach, limits } })] });
    expect(offered.bankLimitsMinor).toEqual({ ACH: 5_000 });
    expect(offeredRails({ connections: [connection({})] }).bankLimitsMinor).toEqual({});
  });

  it('are always open where the bank is', () => {
    const cutoffs = { ...defaultCutoffs, sameDay: [alwaysOpen], standard: alwaysOpen };
    expect(offeredRails({ connections: [connection({ cutoffs, ach })] }).cutoffs).toMatchObject({
      ...{ sameDay: [alwaysOpen], standard: alwaysOpen },
    });
  });
});
