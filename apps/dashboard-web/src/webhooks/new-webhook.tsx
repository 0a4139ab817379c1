/** Creates a webhook endpoint. Its secret is shown this once. */
import { Button, Group, Stack, Text } from '@mantine/core';
import type { DashboardApi } from '@pis/dashboard/api';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../api.js';
import { meQuery } from '../queries.js';
import { EmptyState, PageHeader, Section } from '../ui.js';
import { ShownOnce } from '../values.js';
import { allPaymentEvents, refreshWebhooks } from './webhook-data.js';
import { WebhookForm } from './webhook-form.js';
import './webhooks.css';

const empty = { url: '', label: '', subscribedEvents: [allPaymentEvents] };

export function NewWebhookPage() {
  const { data: me } = useQuery(meQuery);
  return (
    <>
      <PageHeader title="New webhook" />
      {me?.role === 'admin' ? (
        <Creation />
      ) : (
        <EmptyState title="Not permitted" text="Administrators create webhooks." />
      )}
    </>
  );
}

/** The secret is kept in this component alone: it is gone when the user leaves the page. */
function Creation() {
  const navigate = useNavigate();
  const create = useMutation({
    mutationFn: (body: DashboardApi['createWebhook']['body']) => call('createWebhook', { body }),
    onSuccess: refreshWebhooks,
    gcTime: 0,
  });
  if (create.data !== undefined) {
    const { id: webhookId, url, secret } = create.data;
    return (
      <Section title="The webhook was created">
        <Stack gap="md">
          <ShownOnce value={secret} name="the signing secret" />
          <Text size="sm" className="any-word">
            It signs every delivery to {url}.
          </Text>
          <Group>
            <Button
              onClick={() => void navigate({ to: '/webhooks/$webhookId', params: { webhookId } })}
            >
              Done
            </Button>
          </Group>
        </Stack>
      </Section>
    );
  }
  return (
    <WebhookForm
      initial={empty}
      action="Create webhook"
      isPending={create.isPending}
      error={create.error}
      submit={(body) => create.mutate(body)}
      change={() => create.reset()}
      back={() => void navigate({ to: '/webhooks' })}
    />
  );
}
