/** The user's own sessions, each of which the user can end. */
import { Badge, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { DashboardApi } from '@pis/dashboard/api';
import { call } from '../api.js';
import { queryClient } from '../queries.js';
import { EmptyState, FormProblem, LoadFailed, Section, Time } from '../ui.js';
import { browserOf } from './browser-name.js';
import { sessionsQuery } from './sessions-query.js';

type Session = DashboardApi['listSessions']['data'][number];

const refresh = () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });

export function Sessions() {
  const sessions = useQuery(sessionsQuery);
  const endOthers = useMutation({
    mutationFn: () => call('endOtherSessions'),
    onSuccess: refresh,
  });
  const hasOthers = sessions.data?.some(({ isCurrent }) => !isCurrent) === true;
  return (
    <Section title="Sessions">
      {sessions.isLoadingError ? (
        <LoadFailed error={sessions.error} retry={() => void sessions.refetch()} />
      ) : sessions.isPending ? (
        <EmptyState title="Loading" text="One moment." />
      ) : (
        <ul className="sessions">
          {sessions.data.map((session) => (
            <SessionItem key={session.sessionId} session={session} />
          ))}
        </ul>
      )}
      <FormProblem error={endOthers.error} />
      {hasOthers ? (
        <Button
          variant="default"
          mt="md"
          loading={endOthers.isPending}
          onClick={() => endOthers.mutate()}
        >
          End all other sessions
        </Button>
      ) : null}
    </Section>
  );
}

function SessionItem({ session }: { readonly session: Session }) {
  const { sessionId, isCurrent, client, createdAt, lastSeenAt } = session;
  const end = useMutation({
    mutationFn: () => call('endSession', { ids: { sessionId } }),
    onSettled: refresh,
  });
  const browser = browserOf(client?.userAgent ?? null);
  return (
    <li>
      <Group justify="space-between" wrap="nowrap" gap="md">
        <div className="session">
          <Group gap="xs">
            <Text size="sm" fw={600} title={client?.userAgent ?? undefined}>
              {browser}
            </Text>
            {isCurrent ? (
              <Badge variant="light" color="teal" radius="sm" tt="none" autoContrast>
                This session
              </Badge>
            ) : null}
          </Group>
          <Text size="sm" c="dimmed">
            {client === null ? 'Unknown address' : client.address} · signed in{' '}
            <Time at={createdAt} /> · last seen <Time at={lastSeenAt} />
          </Text>
        </div>
        {isCurrent ? null : (
          <Button
            variant="default"
            size="compact-sm"
            loading={end.isPending}
            aria-label={`End session: ${browser}`}
            onClick={() => end.mutate()}
          >
            End session
          </Button>
        )}
      </Group>
    </li>
  );
}
