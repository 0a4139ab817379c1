/** What several pages are made of. */
import { Alert, Badge, Button, Group, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiFailure } from './api.js';
import { labelOf, statusNames, timeText } from './format.js';

export function PageHeader({
  title,
  action,
}: {
  readonly title: string;
  readonly action?: ReactNode;
}) {
  document.title = `${title} · Dashboard`;
  return (
    <Group justify="space-between" align="center" mb="lg" mih={36}>
      <Title order={1}>{title}</Title>
      {action}
    </Group>
  );
}

const statusColors: Readonly<Record<string, string | undefined>> = {
  AWAITING_CONFIRMATION: 'yellow',
  QUEUED: 'blue',
  PROCESSING: 'blue',
  COMPLETED: 'teal',
  RETURNED: 'orange',
  FAILED: 'red',
  FAILED_IN_FLIGHT: 'red',
  BLOCKED: 'red',
};

export function StatusBadge({ status }: { readonly status: string }) {
  return (
    <Badge
      color={statusColors[status] ?? 'gray'}
      variant="light"
      radius="sm"
      tt="none"
      fw={600}
      autoContrast
    >
      {labelOf(statusNames, status)}
    </Badge>
  );
}

export function Time({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={at}>
      {timeText(at)}
    </time>
  );
}

/** A list without items: what would be here, and what to do. */
export function EmptyState({
  title,
  text,
  action,
}: {
  readonly title: string;
  readonly text: string;
  readonly action?: ReactNode;
}) {
  return (
    <Stack align="center" gap="xs" py={72} px="md">
      <Text fw={600}>{title}</Text>
      <Text c="dimmed" size="sm" ta="center" maw={420}>
        {text}
      </Text>
      {action === undefined ? null : <div className="empty-action">{action}</div>}
    </Stack>
  );
}

export function LoadFailed({
  error,
  retry,
}: {
  readonly error: Error;
  readonly retry?: () => void;
}) {
  return (
    <Alert color="red" variant="light" title="This could not be loaded" role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{messageOf(error)}</Text>
        {retry === undefined ? null : (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** Above a form: what was wrong with all of it. */
export function FormProblem({ error }: { readonly error: Error | null }) {
  if (error === null) return null;
  return (
    <Alert color="red" variant="light" role="alert">
      {messageOf(error)}
    </Alert>
  );
}

export function NotFound() {
  return (
    <EmptyState
      title="There is nothing here"
      text="The address is wrong, or what was here is gone."
    />
  );
}

function messageOf(error: Error): string {
  return error instanceof ApiFailure ? error.message : 'Something went wrong. Reload the page.';
}

/** One line of facts: a name and its value. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A bordered part of a page with a heading. */
export function Section({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <section className="card">
      <Title order={2} mb="md">
        {title}
      </Title>
      {children}
    </section>
  );
}
