/** What several pages are made of. */
import { Alert, Badge, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useLocation } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { ApiFailure } from './api.js';
import { labelOf, shortTimeText, statusNames, timeText } from './format.js';

/** The path whose heading had the focus last. */
let headedPath: string | undefined;

/** The next page's heading takes the focus, also if it is the first page with one: after the sign-in. */
export function leavePageWithoutHeading(path: string): void {
  headedPath = path;
}

/** The title of the page and of its tab. After a navigation the heading takes the focus. */
export function PageHeader({
  title,
  action,
}: {
  readonly title: string;
  readonly action?: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    document.title = `${title} · Dashboard`;
  }, [title]);
  useEffect(() => {
    const isFirstPage = headedPath === undefined;
    const isNewPage = headedPath !== pathname;
    headedPath = pathname;
    // When the data of a page arrives, a new heading may replace the one that has the focus.
    const isFocusLost = document.activeElement === document.body;
    if (!isFirstPage && (isNewPage || isFocusLost)) heading.current?.focus({ preventScroll: true });
  }, [pathname]);
  return (
    <Group justify="space-between" align="center" mb="lg" mih={36}>
      <Title order={1} ref={heading} tabIndex={-1}>
        {title}
      </Title>
      {action}
    </Group>
  );
}

/** For whoever was at a button that is gone. */
export function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}

/** A page whose data has not arrived. */
export function PageLoading({ title }: { readonly title: string }) {
  return (
    <>
      <PageHeader title={title} />
      <div aria-busy="true">
        <Skeleton height={180} radius="lg" />
      </div>
    </>
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

interface StatusBadgeProps {
  readonly status: string;
  /** Of a payment that was waiting for its counterparty when the list was read. */
  readonly linkExpired?: boolean;
}

export function StatusBadge({ status, linkExpired = false }: StatusBadgeProps) {
  const isExpired = linkExpired && status === 'AWAITING_CONFIRMATION';
  const name = labelOf(statusNames, status);
  return (
    <Badge
      color={isExpired ? 'orange' : (statusColors[status] ?? 'gray')}
      title={isExpired ? `${name}: nobody can confirm any more` : undefined}
      variant="light"
      radius="sm"
      tt="none"
      fw={600}
      autoContrast
    >
      {isExpired ? 'Link expired' : name}
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

/** For columns: the year only if it is another one. The title has the exact time. */
export function ShortTime({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={at}>
      {shortTimeText(at)}
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
  // Trying again would not help.
  const status = error instanceof ApiFailure ? error.status : null;
  if (status === 404) return <NothingHere />;
  return (
    <Alert color="red" variant="light" title="This could not be loaded" role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{messageOf(error)}</Text>
        {retry === undefined || status === 400 ? null : (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

interface LongList {
  readonly error: Error | null;
  readonly isFetchNextPageError: boolean;
  fetchNextPage(): Promise<unknown>;
  refetch(): Promise<unknown>;
}

/** Below the rows that are there, when no more could be loaded. */
export function RestFailed({ list }: { readonly list: LongList }) {
  if (list.error === null) return null;
  const retry = () => void (list.isFetchNextPageError ? list.fetchNextPage() : list.refetch());
  return (
    <div className="below-list">
      <LoadFailed error={list.error} retry={retry} />
    </div>
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

/** The page of an address that leads nowhere. */
export function NotFound() {
  return (
    <>
      <PageHeader title="Not found" />
      <NothingHere />
    </>
  );
}

function NothingHere() {
  return (
    <div className="card">
      <EmptyState
        title="There is nothing here"
        text="The address is wrong, or what was here is gone."
      />
    </div>
  );
}

/** The page of a screen that is for other roles. */
export function NotForThisRole() {
  return (
    <>
      <PageHeader title="Your role cannot see this" />
      <div className="card">
        <EmptyState
          title="This page is for other roles"
          text="If you need it, ask an administrator of your organization."
        />
      </div>
    </>
  );
}

function messageOf(error: Error): string {
  return error instanceof ApiFailure ? error.explanation : 'Something went wrong. Reload the page.';
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
