/** The filters of the list of payments, as they are in the address and in saved views. */
import type { PaymentRail } from '@pis/dashboard/api';
import { directionNames, rails, statusNames } from '../format.js';

export interface PaymentSearch {
  readonly status?: keyof typeof statusNames;
  readonly direction?: keyof typeof directionNames;
  readonly paymentRail?: PaymentRail;
  readonly originatorId?: string;
  readonly contactId?: string;
  readonly externalPaymentId?: string;
  /** Days, UTC. */
  readonly createdFrom?: string;
  readonly createdTo?: string;
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const dayForm = /^\d{4}-\d{2}-\d{2}$/;
const externalPaymentIdMax = 255;

/** For each filter whether it is one, and the value that it is. */
const readers = {
  status: (value) => oneOf(Object.keys(statusNames), value),
  direction: (value) => oneOf(Object.keys(directionNames), value),
  paymentRail: (value) => oneOf(rails, value),
  originatorId: (value) => (uuidForm.test(value) ? value : undefined),
  contactId: (value) => (uuidForm.test(value) ? value : undefined),
  externalPaymentId: (value) =>
    value !== '' && value.length <= externalPaymentIdMax ? value : undefined,
  createdFrom: dayOf,
  createdTo: dayOf,
} as const satisfies Record<keyof PaymentSearch, (value: string) => string | undefined>;

export const filterNames = Object.keys(readers) as readonly (keyof PaymentSearch)[];

/** Of an address or a saved view, whatever it says. The router reads `17` as a number. */
export function paymentSearchOf(given: Record<string, unknown>): PaymentSearch {
  const entries = filterNames.flatMap((name) => {
    const value = given[name];
    if (typeof value !== 'string' && typeof value !== 'number') return [];
    const read = readers[name](String(value));
    return read === undefined ? [] : [[name, read] as const];
  });
  // Sound: each value comes from the reader of its filter.
  return Object.fromEntries(entries) as PaymentSearch;
}

export function hasFilters(search: PaymentSearch): boolean {
  return filterNames.some((name) => search[name] !== undefined);
}

export function isSameSearch(one: PaymentSearch, other: PaymentSearch): boolean {
  return filterNames.every((name) => one[name] === other[name]);
}

function oneOf(values: readonly string[], value: string): string | undefined {
  return values.includes(value) ? value : undefined;
}

function dayOf(value: string): string | undefined {
  const day = new Date(value);
  const isDay = dayForm.test(value) && !Number.isNaN(day.getTime());
  // Not February 30, which would be read as March 2.
  return isDay && day.toISOString().startsWith(value) ? value : undefined;
}
