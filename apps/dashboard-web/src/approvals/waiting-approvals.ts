/** How many approvals wait for the user, for the navigation, and above which amount a payment needs one. */
import type { Me } from '@pis/dashboard/api';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { call } from '../api.js';
import { usePolling } from '../live.js';

const refreshMs = 30_000;

export const approvalSettingsQuery = queryOptions({
  queryKey: ['approvals', 'settings'],
  queryFn: ({ signal }) => call('getApprovalSettings', { signal }),
});

const countQuery = queryOptions({
  queryKey: ['approvals', 'count'],
  queryFn: ({ signal }) => call('countApprovals', { signal }),
});

/** Null when none waits, and for users who cannot approve. */
export function useWaitingApprovals({ role }: Pick<Me, 'role'>): string | null {
  const enabled = role === 'approver' || role === 'admin';
  const { data } = useQuery({ ...countQuery, enabled, refetchInterval: usePolling(refreshMs) });
  if (data === undefined || data.waiting === 0) return null;
  return data.isCapped ? '99+' : String(data.waiting);
}
