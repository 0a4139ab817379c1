/**
 * The payments of the demo organization: at least one in every status. The last four digits of an account choose what
 * the simulated bank does (sandbox outcomes of docs/api-decisions.md). All of them belong to the person among the demo
 * originators, a freelance designer. Scripts that use the first originator find only what they made.
 */
import type { AccountHolder, Direction, PaymentStatus } from '@pis/domain';

interface DemoAccount {
  readonly subType: 'CHECKING' | 'SAVINGS';
  readonly achRoutingNumber: string;
  readonly achAccountNumber: string;
}

/** Somebody to pay: a saved contact. */
export interface DemoContact {
  readonly holder: AccountHolder;
  readonly email: string;
  readonly bankAccount: DemoAccount;
}

/** What the counterparty does with its link. */
export type DemoAnswer =
  | { readonly type: 'submits'; readonly account: DemoAccount }
  | { readonly type: 'waits' }
  | { readonly type: 'is canceled' };

export interface DemoPayment {
  readonly name: string;
  readonly direction: Direction;
  /** A saved contact is paid at once. A person or company is asked by a link. */
  readonly recipient:
    | { readonly saved: DemoContact }
    | { readonly asked: AccountHolder; readonly answer: DemoAnswer };
  /** In cents. */
  readonly amountMinor: number;
  readonly note: string;
  readonly externalId: string | null;
  readonly endsIn: PaymentStatus;
}

function person(firstName: string, lastName: string): AccountHolder {
  return { entityType: 'INDIVIDUAL', firstName, lastName, companyName: null };
}

function company(companyName: string): AccountHolder {
  return { entityType: 'BUSINESS', firstName: null, lastName: null, companyName };
}

function account(
  achRoutingNumber: string,
  achAccountNumber: string,
  subType: DemoAccount['subType'] = 'CHECKING',
): DemoAccount {
  return { subType, achRoutingNumber, achAccountNumber };
}

/** What a counterparty gives as its address. */
export const demoAddress = {
  addressLine1: '48 Orchard Lane',
  city: 'Portland',
  state: 'OR',
  postalCode: '97205',
  countryCode: 'US',
} as const;

/** The oldest first. */
export const demoPayments: readonly DemoPayment[] = [
  {
    name: 'studio-rent',
    direction: 'OUTBOUND',
    recipient: {
      saved: {
        holder: company('Harborview Properties LLC'),
        email: 'rent@harborview.example',
        bankAccount: account('021000021', '204417733815'),
      },
    },
    amountMinor: 185_000,
    note: 'Studio rent, December',
    externalId: 'rent-12',
    endsIn: 'COMPLETED',
  },
  {
    name: 'website',
    direction: 'INBOUND',
    recipient: {
      asked: company('Northwind Roofing Inc.'),
      answer: { type: 'submits', account: account('121042882', '630045517242') },
    },
    amountMinor: 425_000,
    note: 'Website redesign, final part',
    externalId: 'invoice-1038',
    endsIn: 'COMPLETED',
  },
  {
    name: 'portrait',
    direction: 'INBOUND',
    recipient: {
      asked: person('Marta', 'Lindqvist'),
      answer: { type: 'submits', account: account('256074974', '771200340101', 'SAVINGS') },
    },
    amountMinor: 18_000,
    note: 'Portrait session',
    externalId: 'invoice-1040',
    endsIn: 'RETURNED',
  },
  {
    name: 'brochures',
    direction: 'OUTBOUND',
    recipient: {
      saved: {
        holder: company('Bluebird Print Works Inc.'),
        email: 'orders@bluebird-print.example',
        bankAccount: account('071000013', '889930120201'),
      },
    },
    amountMinor: 31_275,
    note: 'Brochures, order 7731',
    externalId: 'order-7731',
    endsIn: 'FAILED',
  },
  {
    name: 'hosting',
    direction: 'OUTBOUND',
    recipient: {
      saved: {
        holder: company('Cobalt Hosting Inc.'),
        email: 'billing@cobalt-hosting.example',
        bankAccount: account('011401533', '450081260401'),
      },
    },
    amountMinor: 27_520,
    note: 'Server hosting, November',
    externalId: null,
    endsIn: 'FAILED_IN_FLIGHT',
  },
  {
    name: 'camera',
    direction: 'OUTBOUND',
    recipient: {
      saved: {
        holder: company('Castle Camera Exchange LLC'),
        email: 'sales@castle-camera.example',
        bankAccount: account('322271627', '310077440301'),
      },
    },
    amountMinor: 990_000,
    note: 'Camera body and two lenses',
    externalId: null,
    endsIn: 'BLOCKED',
  },
  {
    name: 'logo',
    direction: 'INBOUND',
    recipient: { asked: person('Owen', 'Fletcher'), answer: { type: 'is canceled' } },
    amountMinor: 15_000,
    note: 'Logo draft, replaced by invoice 1043',
    externalId: 'invoice-1041',
    endsIn: 'CANCELED',
  },
  {
    name: 'signage',
    direction: 'INBOUND',
    recipient: {
      asked: company('Maple & Main Cafe LLC'),
      answer: { type: 'submits', account: account('091000022', '520066310502') },
    },
    amountMinor: 240_000,
    note: 'Menus and signage',
    externalId: 'invoice-1042',
    endsIn: 'PROCESSING',
  },
  {
    name: 'illustrations',
    direction: 'OUTBOUND',
    recipient: {
      saved: {
        holder: person('Luis', 'Ortega'),
        email: 'luis.ortega@mail.example',
        bankAccount: account('110000000', '118800245936', 'SAVINGS'),
      },
    },
    amountMinor: 64_000,
    note: 'Illustrations for the spring catalog',
    externalId: null,
    endsIn: 'COMPLETED',
  },
  {
    name: 'proofreading',
    direction: 'OUTBOUND',
    recipient: {
      saved: {
        holder: person('Priya', 'Nair'),
        email: 'priya.nair@mail.example',
        bankAccount: account('121000248', '660012930501'),
      },
    },
    amountMinor: 9_600,
    note: 'Proofreading',
    externalId: null,
    endsIn: 'QUEUED',
  },
  {
    name: 'invitations',
    direction: 'INBOUND',
    recipient: { asked: person('Grace', 'Whitfield'), answer: { type: 'waits' } },
    amountMinor: 52_500,
    note: 'Wedding invitations, deposit',
    externalId: 'invoice-1043',
    endsIn: 'AWAITING_CONFIRMATION',
  },
];
