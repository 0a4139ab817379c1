/** The columns of payments as csv, here and in the dashboard: a field of the API each. */
import type { PartyView, PaymentListItem } from '@pis/contracts';
import type { CsvValue } from '../csv.js';

type Plain = Exclude<keyof PaymentListItem, 'originator' | 'contact'>;
type PartyField = Exclude<keyof PartyView, 'erased' | 'bankAccount'>;

/** A new field of the API does not compile until it is here. */
const plain = {
  paymentId: true,
  status: true,
  createdAt: true,
  completedAt: true,
  failedAt: true,
  returnedAt: true,
  canceledAt: true,
  paymentAmount: true,
  discountFee: true,
  flatFee: true,
  returnFee: true,
  currencyCode: true,
  paymentRail: true,
  direction: true,
  paymentNote: true,
  externalPaymentId: true,
  failureCode: true,
  failureMessage: true,
} as const satisfies Record<Plain, true>;
const party = {
  id: true,
  entityType: true,
  firstName: true,
  lastName: true,
  companyName: true,
} as const satisfies Record<PartyField, true>;

const plainFields = Object.keys(plain) as readonly Plain[];
const partyFields = Object.keys(party) as readonly PartyField[];

export const paymentHeader: readonly string[] = [
  ...plainFields,
  ...(['originator', 'contact'] as const).flatMap((role) =>
    partyFields.map((field) => `${role}.${field}`),
  ),
];

export function paymentValues(item: PaymentListItem): readonly CsvValue[] {
  const { originator, contact } = item;
  return [
    ...plainFields.map((field) => item[field]),
    ...partyFields.map((field) => originator[field]),
    ...partyFields.map((field) => contact?.[field] ?? null),
  ];
}
