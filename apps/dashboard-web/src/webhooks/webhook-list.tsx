/** The organization's webhook endpoints, and how their deliveries go. */
import { Badge, Button, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { meQuery } from '../queries.js';
import { EmptyState, LoadFailed, PageHeader, Time } from '../ui.js';
import { eventNames } from './delivery-search.js';
import {
  allPaymentEvents,
  answerText,
  lastDayText,
  type Summary,
  titleOf,
  webhooksQuery,
} from './webhook-data.js';
import { useWatching } from './watching.js';
import './webhooks.css';

export function WebhookListPage() {
  const webhooks = useQuery({ ...webhooksQuery, refetchInterval: useWatching() });
  const { data: me } = useQuery(meQuery);
  const navigate = useNavigate();
  const create = () => void navigate({ to: '/webhooks/new' });
  const action = me?.role === 'admin' ? <Button onClick={create}>New webhook</Button> : null;
  return (
    <>
      <PageHeader title="Webhooks" action={action} />
      {webhooks.isError && webhooks.data === undefined ? (
        <LoadFailed error={webhooks.error} retry={() => void webhooks.refetch()} />
      ) : (
        <div className="card flush" aria-busy={webhooks.isPending}>
          {webhooks.data === undefined ? (
            <Loading />
          ) : webhooks.data.length === 0 ? (
            <EmptyState
              title="No webhooks yet"
              text="A webhook tells your own systems about each change of a payment, signed and with retries."
            />
          ) : (
            <ul className="endpoints">
              {webhooks.data.map((webhook) => (
                <Endpoint key={webhook.id} webhook={webhook} />
              ))}
            </ul>
          )}
        </div>
      )}
    </>
  );
}

function Loading() {
  return (
    <ul className="endpoints" aria-label="Loading">
      {[0, 1, 2].map((row) => (
        <li key={row}>
          <Skeleton height={40} />
        </li>
      ))}
    </ul>
  );
}

function Endpoint({ webhook }: { readonly webhook: Summary }) {
  const { id, url, label, lastFailure, failingSince } = webhook;
  return (
    <li className="endpoint">
      <div className="endpoint-name">
        <Link to="/webhooks/$webhookId" params={{ webhookId: id }}>
          {titleOf(webhook)}
        </Link>
        <Text size="xs" c="dimmed" className="endpoint-url">
          {label === null ? eventsText(webhook) : url}
        </Text>
        {label === null ? null : (
          <Text size="xs" c="dimmed">
            {eventsText(webhook)}
          </Text>
        )}
      </div>
      <div className="endpoint-state">
        <HealthBadge webhook={webhook} />
        <Text size="xs" c="dimmed">
          {lastDayText(webhook) ?? 'Nothing sent in the last day'}
        </Text>
        {failingSince === null || lastFailure === null ? null : (
          <Text size="xs">
            {answerText(lastFailure.statusCode, lastFailure.error)}. Fails since{' '}
            <Time at={failingSince} />
          </Text>
        )}
      </div>
    </li>
  );
}

const healths = {
  healthy: { label: 'Working', color: 'teal' },
  degraded: { label: 'Degraded', color: 'yellow' },
  failing: { label: 'Failing', color: 'red' },
} as const;

/** `Working` also before the first delivery. */
export function HealthBadge({
  webhook,
}: {
  readonly webhook: Pick<Summary, 'enabled' | 'health'>;
}) {
  const { label, color } = !webhook.enabled
    ? { label: 'Disabled', color: 'gray' }
    : webhook.health === null
      ? { label: 'Unknown', color: 'gray' }
      : healths[webhook.health];
  return (
    <Badge variant="light" color={color} radius="sm" tt="none">
      {label}
    </Badge>
  );
}

/** What it subscribes to, in words. */
export function eventsText({ subscribedEvents }: Pick<Summary, 'subscribedEvents'>): string {
  if (subscribedEvents.length === 0) return 'No events';
  return subscribedEvents
    .map((name) =>
      name === allPaymentEvents
        ? 'All payment events'
        : ((eventNames as Readonly<Record<string, string>>)[name] ?? name),
    )
    .join(', ');
}
