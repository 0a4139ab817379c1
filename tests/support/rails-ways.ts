/** Ways over which a payment can move, and a payment that takes each of them. */
import type { Payment } from '@pis/client';

export interface Way {
  readonly paymentRail: Payment['paymentRail'];
  readonly achService: 'same_day' | 'standard' | null;
  readonly direction: Payment['direction'];
  /** Minor units. */
  readonly paymentAmount: number;
  readonly achRoutingNumber: string;
  readonly swiftCode: string | null;
  readonly legalAddress: Readonly<Record<string, string>> | null;
}

const small = 12_345;
/** Above what same-day ACH takes. */
const large = 100_000_001;
const outbound = {
  achService: null,
  direction: 'OUTBOUND',
  paymentAmount: small,
  swiftCode: null,
  legalAddress: null,
} as const;
/** The rails of these banks are those of the sandbox's directory. */
const banks = { achOnly: '011401533', rtp: '110000000', fednow: '101050001', wire: '322271627' };

export const ways = {
  'an ACH debit': {
    ...{ ...outbound, paymentRail: 'ACH', achService: 'standard' },
    ...{ direction: 'INBOUND', achRoutingNumber: banks.rtp },
  },
  'a same-day ACH credit': {
    ...{ ...outbound, paymentRail: 'ACH', achService: 'same_day' },
    achRoutingNumber: banks.achOnly,
  },
  'a standard ACH credit': {
    ...{ ...outbound, paymentRail: 'ACH', achService: 'standard' },
    ...{ paymentAmount: large, achRoutingNumber: banks.achOnly },
  },
  RTP: { ...outbound, paymentRail: 'RTP', achRoutingNumber: banks.rtp },
  FEDNOW: { ...outbound, paymentRail: 'FEDNOW', achRoutingNumber: banks.fednow },
  FEDWIRE: {
    ...{ ...outbound, paymentRail: 'FEDWIRE' },
    ...{ paymentAmount: large, achRoutingNumber: banks.wire },
  },
  SWIFT: {
    ...{ ...outbound, paymentRail: 'SWIFT', achRoutingNumber: banks.achOnly },
    swiftCode: 'DEUTDEFF',
    legalAddress: {
      ...{ addressLine1: 'Hauptstrasse 1', city: 'Frankfurt', state: 'HE' },
      ...{ postalCode: '60311', countryCode: 'DE' },
    },
  },
} as const satisfies Readonly<Record<string, Way>>;

export type WayName = keyof typeof ways;
