/** What the pages of webhooks know of the server's state, and the words for it. */
import type { DashboardApi } from '@pis/dashboard/api';
import { queryOptions } from '@tanstack/react-query';
import { call, callPage } from '../api.js';
import { pagesQuery, queryClient } from '../queries.js';
import type { DeliverySearch } from './delivery-search.js';

export type Summary = DashboardApi['listWebhooks']['data'][number];
export type Page = DashboardApi['getWebhook']['data'];
export type Delivery = DashboardApi['listDeliveries']['data'][number];
export type Subscriptions = DashboardApi['createWebhook']['body']['subscribedEvents'];

const pageSize = '50';

export const webhooksQuery = queryOptions({
  queryKey: ['webhooks', 'list'],
  queryFn: ({ signal }) => call('listWebhooks', { signal }),
});

export const webhookQuery = (webhookId: string) =>
  queryOptions({
    queryKey: ['webhooks', 'one', webhookId],
    queryFn: ({ signal }) => call('getWebhook', { ids: { webhookId }, signal }),
  });

export const deliveriesQuery = (webhookId: string, search: DeliverySearch) =>
  pagesQuery(['deliveries', 'list', webhookId, search], pageSize, (page, signal) =>
    callPage('listDeliveries', { ids: { webhookId }, query: { ...search, ...page }, signal }),
  );

export const deliveryQuery = (deliveryId: string) =>
  queryOptions({
    queryKey: ['deliveries', 'one', deliveryId],
    queryFn: ({ signal }) => call('getDelivery', { ids: { deliveryId }, signal }),
  });

export async function refreshWebhooks(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ['webhooks'] });
}

export async function refreshDeliveries(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['deliveries'] }),
    queryClient.invalidateQueries({ queryKey: ['payments', 'one'] }),
  ]);
}

export const allPaymentEvents = 'payment.*';

export const finishedReasons = {
  refused: 'The receiver refused it for good.',
  window_ended: 'It was not accepted before the retries ended.',
  endpoint_deleted: 'The endpoint was deleted.',
} as const satisfies Record<NonNullable<Delivery['finishedReason']>, string>;

/** What an endpoint is called: its label, or its host. */
export function titleOf({ label, url }: Pick<Summary, 'label' | 'url'>): string {
  return label ?? URL.parse(url)?.host ?? url;
}

/** `94 of 100 accepted`, and the share. Null without a delivery in the last day. */
export function lastDayText({ lastDay }: Summary): string | null {
  if (lastDay === null) return null;
  const { attempted, delivered, isCapped } = lastDay;
  // Rounded down: 100% means all of them.
  const percent = Math.floor((delivered * 100) / attempted);
  const counted = `${delivered.toLocaleString('en-US')} of ${isCapped ? 'the latest ' : ''}${attempted.toLocaleString('en-US')}`;
  return `${percent}% accepted (${counted})`;
}

/** What the receiver answered, or why there was no answer. */
export function answerText(statusCode: number | null, error: string | null): string {
  if (statusCode !== null) return `Answered ${statusCode}`;
  return error ?? 'Not attempted yet';
}
