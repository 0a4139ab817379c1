/** What happened to a payment, and what was told about it. */
import { Text } from '@mantine/core';
import type { DashboardApi } from '@pis/dashboard/api';
import { labelOf, statusNames } from '../format.js';
import { Section, Time } from '../ui.js';

type PaymentPageData = DashboardApi['getPayment']['data'];

export function TimelineSection({ entries }: { readonly entries: PaymentPageData['timeline'] }) {
  return (
    <Section title="Timeline">
      <ol className="timeline">
        {entries.map((entry) => (
          <li key={entry.eventId}>
            <Text size="sm" fw={500}>
              {entry.status === null ? spaced(entry.type) : labelOf(statusNames, entry.status)}
            </Text>
            <Text size="xs" c="dimmed">
              <Time at={entry.at} /> by {entry.actorEmail ?? entry.actor}
            </Text>
            {entry.traceId === null ? null : (
              <Text size="xs" c="dimmed">
                Trace <code>{entry.traceId}</code>
              </Text>
            )}
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** `Rail reference assigned` of `RailReferenceAssigned`. */
function spaced(type: string): string {
  const words = type.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

const states = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
  canceled: 'Canceled',
} as const;

export function DeliverySection({
  deliveries,
}: {
  readonly deliveries: PaymentPageData['deliveries'];
}) {
  return (
    <Section title="Notifications sent">
      {deliveries.length === 0 ? (
        <Text size="sm" c="dimmed">
          No endpoint was told about this payment.
        </Text>
      ) : (
        <table className="list plain">
          <thead>
            <tr>
              <th scope="col">Event</th>
              <th scope="col">State</th>
              <th scope="col" className="wide">
                To
              </th>
              <th scope="col">Attempts</th>
            </tr>
          </thead>
          <tbody>
            {deliveries.map((one) => (
              <tr key={one.deliveryId} className="row">
                <td>{one.eventType}</td>
                <td title={one.lastError ?? undefined}>{labelOf(states, one.state)}</td>
                <td className="wide">{one.url}</td>
                <td>{one.attemptCount}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}
