/** The organization's users. */
import type { DashboardApi } from '@pis/dashboard/api';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../api.js';
import { queryClient } from '../queries.js';
import type { UserState } from './user-search.js';

type Listed = DashboardApi['listUsers']['data'][number];
export type User = Exclude<Listed, { readonly unreadable: true }>;

export function isReadable(user: Listed): user is User {
  return !('unreadable' in user);
}

export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: ({ signal }) => call('listUsers', { signal }),
});

export const refreshUsers = () => queryClient.invalidateQueries({ queryKey: usersQuery.queryKey });

export function stateOf({ disabled, lockedUntil }: User): UserState {
  if (disabled) return 'disabled';
  return lockedUntil === null ? 'active' : 'locked';
}
