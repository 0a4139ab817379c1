/** One webhook endpoint: how it goes, what may be done with it, its replays and its deliveries. */
import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { meQuery, queryClient } from '../queries.js';
import { Fact, LoadFailed, PageHeader, Section, Time } from '../ui.js';
import { Copyable } from '../values.js';
import { DeliveryList } from './delivery-list.js';
import { Replays } from './replays.js';
import { Deletion, Editing, Rotation, Switch, Trial } from './webhook-actions.js';
import {
  answerText,
  lastDayText,
  type Page,
  type Summary,
  titleOf,
  webhookQuery,
} from './webhook-data.js';
import { eventsText, HealthBadge } from './webhook-list.js';
import { useWatching } from './watching.js';
import './webhooks.css';

export function WebhookPage() {
  const { webhookId } = useParams({ from: '/shell/webhooks/$webhookId' });
  const search = useSearch({ from: '/shell/webhooks/$webhookId' });
  const query = webhookQuery(webhookId);
  const pollMs = useWatching(queryClient.getQueryData(query.queryKey)?.replays[0]?.replayId);
  const page = useQuery({ ...query, refetchInterval: pollMs });
  const { data: me } = useQuery(meQuery);
  const [panel, setPanel] = useState<Panel>(null);
  const back = (
    <Text size="sm" mb="xs">
      <Link to="/webhooks" className="back">
        Back to the list
      </Link>
    </Text>
  );
  if (page.data === undefined)
    return (
      <>
        {back}
        <PageHeader title="Webhook" />
        {page.isError ? (
          <LoadFailed error={page.error} retry={() => void page.refetch()} />
        ) : (
          <Skeleton height={180} radius="lg" />
        )}
      </>
    );
  const { endpoint } = page.data;
  const mayAct = me !== undefined && me?.role !== 'viewer';
  const isAdmin = me?.role === 'admin';
  const close = () => setPanel(null);
  return (
    <>
      {back}
      <PageHeader
        title={titleOf(endpoint)}
        action={<Actions mayAct={mayAct} isAdmin={isAdmin} open={setPanel} />}
      />
      <Stack gap="md">
        <Problem endpoint={endpoint} />
        {panel === 'edit' ? <Editing endpoint={endpoint} close={close} /> : null}
        {panel === 'test' ? <Trial webhookId={webhookId} close={close} /> : null}
        <Facts page={page.data} />
        {isAdmin ? (
          <Section title="Manage">
            <Group gap="sm">
              <Switch endpoint={endpoint} />
              <Rotation webhookId={webhookId} />
              <Deletion endpoint={endpoint} />
            </Group>
          </Section>
        ) : null}
        <Replays
          webhookId={webhookId}
          replays={page.data.replays}
          mayAct={mayAct && endpoint.enabled}
        />
        <DeliveryList webhookId={webhookId} search={search} />
      </Stack>
    </>
  );
}

type Panel = 'edit' | 'test' | null;

function Actions({
  mayAct,
  isAdmin,
  open,
}: {
  readonly mayAct: boolean;
  readonly isAdmin: boolean;
  readonly open: (panel: Panel) => void;
}) {
  return (
    <Group gap="xs">
      {mayAct ? (
        <Button variant="default" onClick={() => open('test')}>
          Send a test
        </Button>
      ) : null}
      {isAdmin ? <Button onClick={() => open('edit')}>Edit</Button> : null}
    </Group>
  );
}

/** Why deliveries fail, and since when. */
function Problem({ endpoint }: { readonly endpoint: Summary }) {
  const { enabled, failingSince, health, lastFailure, id: webhookId } = endpoint;
  if (!enabled)
    return (
      <Alert color="gray" variant="light" title="This webhook is disabled">
        Events of this time are not delivered, also not later. Retries wait until it is enabled.
      </Alert>
    );
  if (failingSince === null) return null;
  return (
    <Alert
      color={health === 'failing' ? 'red' : 'yellow'}
      variant="light"
      title={health === 'failing' ? 'Deliveries fail' : 'The last delivery failed'}
    >
      <Text size="sm">
        {lastFailure === null
          ? 'No delivery was accepted'
          : answerText(lastFailure.statusCode, lastFailure.error)}
        . None was accepted since <Time at={failingSince} />.
        {lastFailure === null ? null : (
          <>
            {' '}
            <Link
              to="/webhooks/$webhookId/deliveries/$deliveryId"
              params={{ webhookId, deliveryId: lastFailure.deliveryId }}
            >
              Show the delivery
            </Link>
          </>
        )}
      </Text>
    </Alert>
  );
}

function Facts({ page: { endpoint, previousSecretEndsAt } }: { readonly page: Page }) {
  return (
    <Section title="Details">
      <dl className="facts">
        <Fact name="State">
          <HealthBadge webhook={endpoint} />
        </Fact>
        <Fact name="Last 24 hours">{lastDayText(endpoint) ?? 'Nothing sent'}</Fact>
        <Fact name="Events">{eventsText(endpoint)}</Fact>
        <Fact name="Created">
          <Time at={endpoint.createdAt} />
        </Fact>
        {previousSecretEndsAt === null ? null : (
          <Fact name="Old secret signs until">
            <Time at={previousSecretEndsAt} />
          </Fact>
        )}
        <Fact name="URL">
          <Copyable value={endpoint.url} name="the URL" />
        </Fact>
        <Fact name="Webhook ID">
          <Copyable value={endpoint.id} name="the webhook ID" />
        </Fact>
      </dl>
    </Section>
  );
}
