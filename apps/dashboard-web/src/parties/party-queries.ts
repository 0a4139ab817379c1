/** What is known of contacts and originators. */
import type { DashboardApi } from '@pis/dashboard/api';
import { queryOptions } from '@tanstack/react-query';
import { call, callPage } from '../api.js';
import { pagesQuery, queryClient } from '../queries.js';

export type Contact = DashboardApi['listContacts']['data'][number];
export type ContactPageData = DashboardApi['getContact']['data'];
export type Originator = DashboardApi['listOriginators']['data'][number];
export type Party = Contact | Originator;

const pageSize = '50';

export interface ContactSearch {
  readonly search?: string;
  readonly originatorId?: string;
}

export const contactList = (search: ContactSearch) =>
  pagesQuery(['contacts', 'list', search], pageSize, (page, signal) =>
    callPage('listContacts', { query: { ...search, ...page }, signal }),
  );

export const originatorList = pagesQuery(['originators', 'list'], pageSize, (query, signal) =>
  callPage('listOriginators', { query, signal }),
);

export const contactQuery = (contactId: string) =>
  queryOptions({
    queryKey: ['contacts', 'one', contactId],
    queryFn: ({ signal }) => call('getContact', { ids: { contactId }, signal }),
  });

export const originatorQuery = (originatorId: string) =>
  queryOptions({
    queryKey: ['originators', 'one', originatorId],
    queryFn: ({ signal }) => call('getOriginator', { ids: { originatorId }, signal }),
  });

/** After a change: every list and page of parties of this kind is out of date. */
export function refreshParties(kind: 'contacts' | 'originators'): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: [kind] });
}

/** `JPMorgan Chase Bank ********6789`. */
export function accountText({ bankAccount }: Pick<Party, 'bankAccount'>): string | null {
  if (bankAccount === null) return null;
  const { bankName, achAccountNumber } = bankAccount;
  return bankName === null ? achAccountNumber : `${bankName} ${achAccountNumber}`;
}
