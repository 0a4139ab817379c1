/** One delivery: what was sent, each attempt, and sending it again. */
import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call } from '../api.js';
import { labelOf } from '../format.js';
import { meQuery, queryClient } from '../queries.js';
import { Fact, FormProblem, LoadFailed, PageHeader, Section } from '../ui.js';
import { Copyable, ExactTime } from '../values.js';
import { DeliveryBadge } from './delivery-badge.js';
import { Attempts, DeliveryBody, type DeliveryData } from './delivery-parts.js';
import { eventNames } from './delivery-search.js';
import { deliveryQuery, finishedReasons, refreshDeliveries } from './webhook-data.js';
import { useWatching } from './watching.js';

export function DeliveryPage() {
  const { webhookId, deliveryId } = useParams({
    from: '/shell/webhooks/$webhookId/deliveries/$deliveryId',
  });
  const query = deliveryQuery(deliveryId);
  const known = queryClient.getQueryData(query.queryKey);
  const pollMs = useWatching(`${known?.state} ${known?.attemptCount}`);
  const delivery = useQuery({
    ...query,
    // A finished delivery changes only when somebody sends it again.
    refetchInterval: known?.state === 'pending' ? pollMs : false,
  });
  const { data: me } = useQuery(meQuery);
  const mayAct = me !== undefined && me?.role !== 'viewer';
  const back = (
    <Text size="sm" mb="xs">
      <Link to="/webhooks/$webhookId" params={{ webhookId }} className="back">
        Back to the webhook
      </Link>
    </Text>
  );
  if (delivery.data === undefined)
    return (
      <>
        {back}
        <PageHeader title="Delivery" />
        {delivery.isError ? (
          <LoadFailed error={delivery.error} retry={() => void delivery.refetch()} />
        ) : (
          <Skeleton height={180} radius="lg" />
        )}
      </>
    );
  const { data } = delivery;
  return (
    <>
      {back}
      <PageHeader
        title={labelOf(eventNames, data.eventType)}
        action={mayAct && data.url !== null ? <Again deliveryId={deliveryId} /> : null}
      />
      <Stack gap="md">
        <Facts delivery={data} />
        <Section title="Attempts">
          <Attempts attempts={data.attempts} />
        </Section>
        <Section title="Body">
          <DeliveryBody body={data.body} />
        </Section>
      </Stack>
    </>
  );
}

export function Again({
  deliveryId,
  size = 'sm',
}: {
  readonly deliveryId: string;
  readonly size?: 'sm' | 'xs';
}) {
  const again = useMutation({
    mutationFn: () => call('redeliver', { ids: { deliveryId } }),
    onSuccess: refreshDeliveries,
  });
  return (
    <Group gap="sm">
      <FormProblem error={again.error} />
      <Button
        variant="default"
        size={size}
        loading={again.isPending}
        onClick={() => again.mutate()}
      >
        Send again
      </Button>
    </Group>
  );
}

function Facts({ delivery }: { readonly delivery: DeliveryData }) {
  const { paymentId, url, nextAttemptAt, finishedAt, finishedReason } = delivery;
  return (
    <Section title="Details">
      <dl className="facts">
        <Fact name="State">
          <DeliveryBadge state={delivery.state} />
        </Fact>
        <Fact name="Event">
          <code>{delivery.eventType}</code>
        </Fact>
        <Fact name="Occurred">
          <ExactTime at={delivery.occurredAt} />
        </Fact>
        {nextAttemptAt === null ? null : (
          <Fact name="Next attempt">
            <ExactTime at={nextAttemptAt} />
          </Fact>
        )}
        {finishedAt === null ? null : (
          <Fact name="Finished">
            <ExactTime at={finishedAt} />
          </Fact>
        )}
        {finishedReason === null ? null : (
          <Fact name="Why it ended">{finishedReasons[finishedReason]}</Fact>
        )}
        {paymentId === null ? null : (
          <Fact name="Payment">
            <Link to="/payments/$paymentId" params={{ paymentId }}>
              Show the payment
            </Link>
          </Fact>
        )}
        <Fact name="Replay">{delivery.replayed ? 'Sent by a replay, too' : 'No'}</Fact>
        <Fact name="To">
          {url === null ? 'The endpoint was deleted' : <Copyable value={url} name="the URL" />}
        </Fact>
        <Fact name="Delivery ID">
          <Copyable value={delivery.deliveryId} name="the delivery ID" />
        </Fact>
        <Fact name="Event ID">
          <Copyable value={delivery.eventId} name="the event ID" />
        </Fact>
      </dl>
    </Section>
  );
}
