/** Tells operators of an endpoint that fails: one event in the log, and one line in the process's log. */
import { operatorNotice } from '@pis/domain';
import { type EventStore, repository, systemContext } from '@pis/event-store';
import type { Logger } from '@pis/service-kit';
import type { FailingEndpoint } from '@pis/webhook-deliveries';

/**
 * Returns a function that may be called again, also by several dispatchers: it tells operators once about an
 * endpoint and the time since when it fails. @throws StoreUnavailable: nobody was told
 */
export function failureNotices(
  store: EventStore,
  logger: Logger,
): (endpoint: FailingEndpoint) => Promise<void> {
  const notices = repository(store, operatorNotice);
  return async ({ endpointId, organizationId, failingSince, lastFailedAt }) => {
    const subject = {
      endpointId,
      organizationId,
      failingSince: failingSince.toISOString(),
      lastFailedAt: lastFailedAt.toISOString(),
    };
    const given = await notices.create(
      `webhookEndpointFailing-${endpointId}-${failingSince.getTime()}`,
      {
        type: 'GiveOperatorNotice',
        at: new Date().toISOString(),
        data: { notice: 'webhook endpoint failing', subject },
      },
      systemContext('webhook-dispatcher'),
    );
    if ('refused' in given) return;
    logger.warn(subject, 'a webhook endpoint has failed for a day');
  };
}
