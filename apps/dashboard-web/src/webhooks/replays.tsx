/** Past events that are sent to an endpoint again, and how far each replay has come. */
import { Badge, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import type { DashboardApi } from '@pis/dashboard/api';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, call } from '../api.js';
import { Form } from '../form.js';
import { FormProblem, Section, Time } from '../ui.js';
import { refreshDeliveries, refreshWebhooks } from './webhook-data.js';

type Replay = DashboardApi['getWebhook']['data']['replays'][number];

interface Props {
  readonly webhookId: string;
  /** The latest first. */
  readonly replays: readonly Replay[];
  readonly mayAct: boolean;
}

export function Replays({ webhookId, replays, mayAct }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  if (replays.length === 0 && !mayAct) return null;
  return (
    <Section title="Replays">
      <Stack gap="md">
        {replays.length === 0 ? (
          <Text size="sm" c="dimmed">
            A replay sends the events of a past time again, for example after an outage of the
            receiver.
          </Text>
        ) : (
          <ul className="replays">
            {replays.map((replay) => (
              <ReplayItem key={replay.replayId} replay={replay} mayAct={mayAct} />
            ))}
          </ul>
        )}
        {isOpen ? (
          <ReplayForm webhookId={webhookId} close={() => setIsOpen(false)} />
        ) : mayAct ? (
          <Group>
            <Button variant="default" onClick={() => setIsOpen(true)}>
              Replay events
            </Button>
          </Group>
        ) : null}
      </Stack>
    </Section>
  );
}

const states = {
  running: { label: 'Running', color: 'blue' },
  completed: { label: 'Completed', color: 'teal' },
  canceled: { label: 'Canceled', color: 'gray' },
} as const satisfies Record<Replay['state'], { label: string; color: string }>;

function ReplayItem({ replay, mayAct }: { readonly replay: Replay; readonly mayAct: boolean }) {
  const { replayId, webhookId, state, from, to, eventsSent } = replay;
  const { label, color } = states[state];
  const cancel = useMutation({
    mutationFn: () => call('cancelReplay', { ids: { webhookId, replayId } }),
    onSuccess: refreshWebhooks,
  });
  return (
    <li>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          <Time at={from} /> to <Time at={to} />
        </Text>
        <Group gap="xs">
          <Badge variant="light" color={color} radius="sm" tt="none">
            {label}
          </Badge>
          {state === 'running' && mayAct ? (
            <Button
              size="compact-xs"
              variant="default"
              loading={cancel.isPending}
              onClick={() => cancel.mutate()}
            >
              Stop
            </Button>
          ) : null}
        </Group>
      </Group>
      {state === 'running' ? (
        <progress aria-label="Progress of the replay" max={100} value={percentOf(replay)} />
      ) : null}
      <Text size="xs" c="dimmed">
        {eventsSent.toLocaleString('en-US')} {eventsSent === 1 ? 'event' : 'events'} queued to be
        sent
        {replay.reachedAt !== null && state === 'running' ? (
          <>
            , up to <Time at={replay.reachedAt} />
          </>
        ) : null}
      </Text>
      <FormProblem error={cancel.error} />
    </li>
  );
}

/** Of the time that it goes through, not of the events: their number is not known. */
function percentOf({ from, to, reachedAt }: Replay): number {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  const reached = reachedAt === null ? start : Date.parse(reachedAt);
  return end <= start ? 0 : Math.max(0, Math.min(100, ((reached - start) / (end - start)) * 100));
}

function ReplayForm({
  webhookId,
  close,
}: {
  readonly webhookId: string;
  readonly close: () => void;
}) {
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [isMissing, setIsMissing] = useState(false);
  const replay = useMutation({
    mutationFn: () =>
      call('replayWebhook', {
        ids: { webhookId },
        body: { from: instantOf(from) ?? '', to: instantOf(to) },
      }),
    onSuccess: async () => {
      close();
      await Promise.all([refreshWebhooks(), refreshDeliveries()]);
    },
  });
  const failure = replay.error instanceof ApiFailure ? replay.error : null;
  return (
    <Form
      sending={replay}
      submit={() => {
        setIsMissing(instantOf(from) === null);
        if (instantOf(from) !== null) replay.mutate();
      }}
    >
      {failure?.problems.length ? null : <FormProblem error={replay.error} />}
      <Group gap="sm" align="flex-start">
        <TextInput
          type="datetime-local"
          label="From"
          value={from}
          error={isMissing ? 'Choose a time.' : (failure?.problemOf('from') ?? null)}
          onChange={({ currentTarget }) => {
            setFrom(currentTarget.value);
            setIsMissing(false);
            replay.reset();
          }}
        />
        <TextInput
          type="datetime-local"
          label="To"
          description="Empty: until now."
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={to}
          error={failure?.problemOf('to') ?? null}
          onChange={({ currentTarget }) => {
            setTo(currentTarget.value);
            replay.reset();
          }}
        />
      </Group>
      <Text size="sm" c="dimmed">
        All events of this time that the webhook subscribes to today are sent once more, with the
        IDs that they had. Times are in your time zone.
      </Text>
      <Group>
        <Button type="submit" loading={replay.isPending}>
          Start the replay
        </Button>
        <Button variant="default" onClick={close}>
          Back
        </Button>
      </Group>
    </Form>
  );
}

/** ISO 8601 of a local time; null without one. */
function instantOf(local: string): string | null {
  const time = new Date(local);
  return local === '' || Number.isNaN(time.getTime()) ? null : time.toISOString();
}
