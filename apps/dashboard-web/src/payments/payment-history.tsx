/** What happened to a payment, and what was told about it. */
import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { labelOf, statusNames } from '../format.js';
import { LoadFailed, Section } from '../ui.js';
import { Copyable, ExactTime } from '../values.js';
import { DeliveryBadge } from '../webhooks/delivery-badge.js';
import { Attempts, DeliveryBody } from '../webhooks/delivery-parts.js';
import { eventNames } from '../webhooks/delivery-search.js';
import { deliveryQuery } from '../webhooks/webhook-data.js';
import { actorText, eventText, type PaymentPageData, spaced, toneOf } from './payment-words.js';

type Entry = PaymentPageData['timeline'][number];
type Delivery = PaymentPageData['deliveries'][number];

export function TimelineSection({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <Section title="Timeline">
      <ol className="timeline">
        {entries.map((entry, index) => (
          <TimelineItem key={entry.eventId} entry={entry} isFirst={index === 0} />
        ))}
      </ol>
    </Section>
  );
}

function TimelineItem({ entry, isFirst }: { readonly entry: Entry; readonly isFirst: boolean }) {
  const { status, type, at, actor, actorEmail, traceId, requestId } = entry;
  const text = eventText(entry, isFirst);
  return (
    <li className={`tone-${toneOf(entry)}`}>
      <Text size="sm" fw={500}>
        {status === null ? spaced(type) : labelOf(statusNames, status)}
      </Text>
      {text === null ? null : <Text size="sm">{text}</Text>}
      <Text size="xs" c="dimmed" title={actor}>
        <ExactTime at={at} /> by {actorText(actor, actorEmail)}
      </Text>
      {traceId === null && requestId === null ? null : (
        <details className="ids">
          <summary>IDs</summary>
          {traceId === null ? null : (
            <div>
              Trace <Copyable value={traceId} name="the trace ID" />
            </div>
          )}
          {requestId === null ? null : (
            <div>
              Request <Copyable value={requestId} name="the request ID" />
            </div>
          )}
        </details>
      )}
    </li>
  );
}

export function DeliverySection({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  return (
    <Section title="Notifications sent">
      {deliveries.length === 0 ? (
        <Text size="sm" c="dimmed">
          No webhook delivery is on record. Old ones are removed.
        </Text>
      ) : (
        <ul className="told">
          {deliveries.map((delivery) => (
            <li key={delivery.deliveryId}>
              <DeliveryItem delivery={delivery} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** The body and the attempts are loaded when somebody wants to see them. */
function DeliveryItem({ delivery }: { readonly delivery: Delivery }) {
  const [isOpen, setIsOpen] = useState(false);
  const { eventType, state, attemptCount, url } = delivery;
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        <span className="told-event">{labelOf(eventNames, eventType)}</span>
        <DeliveryBadge state={state} />
        <span className="told-url">
          {url}, {attemptCount === 1 ? '1 attempt' : `${attemptCount} attempts`}
        </span>
      </summary>
      {isOpen ? <DeliveryDetails delivery={delivery} /> : null}
    </details>
  );
}

function DeliveryDetails({ delivery: { webhookId, deliveryId } }: { readonly delivery: Delivery }) {
  const loaded = useQuery(deliveryQuery(deliveryId));
  if (loaded.isLoadingError)
    return <LoadFailed error={loaded.error} retry={() => void loaded.refetch()} />;
  if (loaded.data === undefined) return <Skeleton height={80} mt="sm" />;
  const { attempts, body } = loaded.data;
  return (
    <Stack gap="sm" mt="sm">
      <Text size="sm" className="fact">
        <Link to="/webhooks/$webhookId/deliveries/$deliveryId" params={{ webhookId, deliveryId }}>
          Show the delivery
        </Link>
      </Text>
      <Attempts attempts={attempts} />
      <DeliveryBody body={body} />
    </Stack>
  );
}
