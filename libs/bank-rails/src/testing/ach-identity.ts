import type { AchIdentity } from '../connections/bank-config.js';

/** Ours at the bank of the specs. */
export const testAchIdentity: AchIdentity = {
  odfiRoutingNumber: '021000021',
  immediateOrigin: '1234567890',
  immediateOriginName: 'US',
  immediateDestination: '021000021',
  immediateDestinationName: 'THE BANK',
  company: { name: 'ACME PAYMENTS', id: '1234567890' },
  companies: {},
  consumerDebits: 'WEB',
  buildLeadMinutes: 10,
  acknowledgementMinutes: 60,
  inquiries: true,
  prenotes: false,
  limits: { entriesPerFileMax: 10_000, amountPerFileMaxMinor: 999_999_999_999 },
};
