/** What the screen of exports knows and calls. */
import type { DashboardApi, ExportItem } from '@pis/dashboard/api';
import { callPage } from '../api.js';
import { pagesQuery, queryClient } from '../queries.js';

export type Kind = ExportItem['kind'];
export type Format = ExportItem['format'];
export type NewExport = DashboardApi['createExport']['body'];

export const kindNames = {
  payments: 'Payments',
  fees: 'Fees',
  deliveries: 'Webhook deliveries',
  movements: 'Movements of money',
} as const satisfies Record<Kind, string>;

export const formatNames = {
  csv: 'CSV',
  jsonl: 'JSON Lines',
  bai2: 'BAI2',
  camt053: 'camt.053',
} as const satisfies Record<Format, string>;

const plain = ['csv', 'jsonl'] as const;

/** The formats of banks have room for movements only. */
export const formatsOf: Readonly<Record<Kind, readonly Format[]>> = {
  payments: plain,
  fees: plain,
  deliveries: plain,
  movements: [...plain, 'bai2', 'camt053'],
};

const pageSize = '20';

export const isOpen = ({ status }: Pick<ExportItem, 'status'>): boolean =>
  status === 'queued' || status === 'running';

export const exportList = pagesQuery(['exports', 'list'], pageSize, (query, signal) =>
  callPage('listExports', { query, signal }),
);

export function refreshExports(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: exportList.queryKey });
}
