/** What may be done with an endpoint. */
import { Alert, Button, Group, Modal, NativeSelect, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { DashboardApi } from '@pis/dashboard/api';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api.js';
import { Confirmation, stayText } from '../confirmation.js';
import { Form } from '../form.js';
import { FormProblem, Section, Time } from '../ui.js';
import { ShownOnce } from '../values.js';
import { eventNames } from './delivery-search.js';
import { refreshDeliveries, refreshWebhooks, type Summary, titleOf } from './webhook-data.js';
import { WebhookForm } from './webhook-form.js';

interface Panel {
  readonly close: () => void;
}

export function Editing({ endpoint, close }: Panel & { readonly endpoint: Summary }) {
  const { id: webhookId, url, label, subscribedEvents } = endpoint;
  const change = useMutation({
    mutationFn: (body: DashboardApi['changeWebhook']['body']) =>
      call('changeWebhook', { ids: { webhookId }, body }),
    onSuccess: async () => {
      await refreshWebhooks();
      close();
    },
  });
  return (
    <WebhookForm
      initial={{ url, label: label ?? '', subscribedEvents }}
      action="Save"
      isPending={change.isPending}
      error={change.error}
      submit={(body) => change.mutate(body)}
      change={() => change.reset()}
      back={close}
    />
  );
}

const testNames = [
  { value: '', label: 'A test event' },
  ...Object.entries(eventNames)
    .filter(([name]) => name.startsWith('payment.'))
    .map(([value, label]) => ({ value, label: `Payment: ${label.toLowerCase()}` })),
];
type TestEvent = NonNullable<DashboardApi['testWebhook']['body']['eventType']>;

/** Sends a synthetic event now. Nothing of it is stored. */
export function Trial({ webhookId, close }: Panel & { readonly webhookId: string }) {
  const [eventType, setEventType] = useState('');
  const test = useMutation({
    mutationFn: () =>
      call('testWebhook', {
        ids: { webhookId },
        // Sound: one of the options.
        body: eventType === '' ? {} : { eventType: eventType as TestEvent },
      }),
  });
  return (
    <Section title="Send a test">
      <Form sending={test} submit={() => test.mutate()} widthMax={420}>
        <Text size="sm" c="dimmed">
          One signed request with invented data, marked as synthetic. It is not repeated.
        </Text>
        <NativeSelect
          label="Event"
          data={testNames}
          value={eventType}
          onChange={({ currentTarget }) => {
            setEventType(currentTarget.value);
            test.reset();
          }}
        />
        <FormProblem error={test.error} />
        <TrialResult result={test.data} />
        <Group>
          <Button type="submit" loading={test.isPending}>
            Send
          </Button>
          <Button variant="default" onClick={close}>
            Close
          </Button>
        </Group>
      </Form>
    </Section>
  );
}

function TrialResult({
  result,
}: {
  readonly result: DashboardApi['testWebhook']['data'] | undefined;
}) {
  if (result === undefined) return null;
  const { success, statusCode, error, durationMs } = result;
  const answered = statusCode === null ? (error ?? 'No answer') : `Answered ${statusCode}`;
  return (
    <Alert
      role="status"
      color={success ? 'teal' : 'red'}
      variant="light"
      title={success ? 'Accepted' : 'Not accepted'}
    >
      {answered} after {durationMs.toLocaleString('en-US')} ms.
    </Alert>
  );
}

export function Switch({ endpoint }: { readonly endpoint: Summary }) {
  const { id: webhookId, enabled } = endpoint;
  const change = async () => {
    await call('changeWebhook', { ids: { webhookId }, body: { enabled: !enabled } });
    await refreshWebhooks();
  };
  return enabled ? (
    <Confirmation
      button="Disable"
      title="Disable this webhook?"
      text="Events that occur while it is disabled are never delivered to it, except by a replay. Retries wait."
      confirm="Yes, disable it"
      act={change}
    />
  ) : (
    <Confirmation
      button="Enable"
      title="Enable this webhook?"
      text="New events are delivered from now on, and waiting retries go on."
      confirm="Yes, enable it"
      act={change}
    />
  );
}

export function Deletion({ endpoint }: { readonly endpoint: Summary }) {
  const navigate = useNavigate();
  return (
    <Confirmation
      button="Delete"
      title={`Delete ${titleOf(endpoint)}?`}
      text="Nothing more is sent to it, and its secret is gone. This cannot be undone."
      confirm="Yes, delete it"
      isDangerous
      act={async () => {
        await call('deleteWebhook', { ids: { webhookId: endpoint.id } });
        // Left first: the page must not ask for what is gone.
        await navigate({ to: '/webhooks', replace: true });
        await Promise.all([refreshWebhooks(), refreshDeliveries()]);
      }}
    />
  );
}

const overlaps = [
  { value: '24', label: '24 hours' },
  { value: '72', label: '72 hours' },
  { value: '1', label: '1 hour' },
  { value: '0', label: 'Not at all: the old secret is known to others' },
];

/** The new secret is kept in this component alone: it is gone when the user closes the dialog. */
export function Rotation({ webhookId }: { readonly webhookId: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [overlap, setOverlap] = useState('24');
  const rotate = useMutation({
    mutationFn: () =>
      call('rotateWebhookSecret', {
        ids: { webhookId },
        body: { overlapHours: Number(overlap) },
      }),
    onSuccess: refreshWebhooks,
    gcTime: 0,
  });
  const end = () => {
    close();
    rotate.reset();
  };
  return (
    <>
      <Button variant="default" onClick={open}>
        Rotate the secret
      </Button>
      <Modal
        opened={isOpen}
        onClose={end}
        title="Rotate the signing secret"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        {rotate.data === undefined ? (
          <Stack gap="md">
            <Text size="sm">
              Deliveries are signed with a new secret at once. For a time they carry the signature
              of the old one, too, so that your receiver can change over.
            </Text>
            <NativeSelect
              label="Sign with the old secret, too, for"
              data={overlaps}
              value={overlap}
              onChange={({ currentTarget }) => setOverlap(currentTarget.value)}
            />
            <FormProblem error={rotate.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={end} data-autofocus>
                {stayText}
              </Button>
              <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
                Yes, rotate it
              </Button>
            </Group>
          </Stack>
        ) : (
          <Stack gap="md">
            <ShownOnce value={rotate.data.secret} name="the signing secret" />
            {rotate.data.previousSecretEndsAt === null ? null : (
              <Text size="sm">
                The old one signs until <Time at={rotate.data.previousSecretEndsAt} />.
              </Text>
            )}
            <Group justify="flex-end">
              <Button onClick={end}>Done</Button>
            </Group>
          </Stack>
        )}
      </Modal>
    </>
  );
}
