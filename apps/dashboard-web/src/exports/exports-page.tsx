/** Exports that the service writes in the background: asked for, followed, and downloaded here. */
import './exports.css';
import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import type { ExportItem } from '@pis/dashboard/api';
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api.js';
import { nameOf } from '../format.js';
import { meQuery, originatorChoices } from '../queries.js';
import { EmptyState, FormProblem, LoadFailed, PageHeader, RestFailed, Time } from '../ui.js';
import { exportList, formatNames, isOpen, kindNames, refreshExports } from './export-data.js';
import { NewExportForm } from './new-export.js';

export function ExportsPage() {
  const [isNew, setNew] = useState(false);
  const { data: me } = useQuery(meQuery);
  const mayAct = me !== undefined && me !== null && me.role !== 'viewer';
  return (
    <>
      <PageHeader
        title="Exports"
        action={mayAct && !isNew ? <Button onClick={() => setNew(true)}>New export</Button> : null}
      />
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          A file is kept for 7 days, and of an organization the 20 newest. Each download is
          recorded.
        </Text>
        {isNew ? <NewExportForm close={() => setNew(false)} /> : null}
        <ExportList mayAct={mayAct} />
      </Stack>
    </>
  );
}

const progressMs = 2_000;

function ExportList({ mayAct }: { readonly mayAct: boolean }) {
  const list = useInfiniteQuery({
    ...exportList,
    // Only while a file is written: nothing else changes by itself but the end of a file's time.
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ data }) => data.some(isOpen)) === true ? progressMs : false,
  });
  const originators = useQuery(originatorChoices);
  const items = list.data?.pages.flatMap(({ data }) => data) ?? [];
  if (list.isLoadingError)
    return <LoadFailed error={list.error} retry={() => void list.refetch()} />;
  // Names need them: a name that cannot be loaded is shown as its ID.
  const names = new Map(originators.data?.map((one) => [one.originatorId, nameOf(one)]));
  return (
    <>
      <div className="card flush" aria-busy={list.isPending}>
        {items.length > 0 ? (
          <ul className="exports" aria-label="Exports">
            {items.map((item) => {
              const { originatorId: id } = item;
              const originator = id === null ? null : (names.get(id) ?? id);
              return (
                <Export key={item.exportId} item={item} originator={originator} mayAct={mayAct} />
              );
            })}
          </ul>
        ) : list.isPending ? (
          <EmptyState title="Loading" text="One moment." />
        ) : (
          <EmptyState
            title="No exports yet"
            text="An export writes payments, fees, webhook deliveries or movements of money to a file."
          />
        )}
      </div>
      {list.hasNextPage && !list.isError ? (
        <Group>
          <Button
            variant="default"
            loading={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            Show older exports
          </Button>
        </Group>
      ) : null}
      <RestFailed list={list} />
    </>
  );
}

const states = {
  queued: { label: 'Queued', color: 'blue' },
  running: { label: 'Running', color: 'blue' },
  completed: { label: 'Completed', color: 'teal' },
  failed: { label: 'Failed', color: 'red' },
  canceled: { label: 'Canceled', color: 'gray' },
  expired: { label: 'Removed', color: 'gray' },
} as const satisfies Record<ExportItem['status'], { label: string; color: string }>;

interface ExportProps {
  readonly item: ExportItem;
  /** The name; null for all. */
  readonly originator: string | null;
  readonly mayAct: boolean;
}

function Export({ item, originator, mayAct }: ExportProps) {
  const { kind, format, status, createdAt } = item;
  const { label, color } = states[status];
  const name = `${kindNames[kind]} as ${formatNames[format]}`;
  return (
    <li aria-label={name}>
      <Group justify="space-between" gap="xs" align="flex-start">
        <div>
          <Group gap="xs">
            <Text fw={600} size="sm">
              {name}
            </Text>
            <Badge variant="light" color={color} radius="sm" tt="none" autoContrast>
              {label}
            </Badge>
          </Group>
          <Text size="sm" c="dimmed">
            Requested <Time at={createdAt} />. {rangeText(item)}
            {originator === null ? '' : `, of ${originator}`}
          </Text>
          <Outcome item={item} />
        </div>
        <Actions item={item} name={name} mayAct={mayAct} />
      </Group>
    </li>
  );
}

const dayOf = (at: string): string => at.slice(0, 10);

/** In UTC, as it was asked for. */
function rangeText({ from, to }: ExportItem): string {
  if (from === null && to === null) return 'All that was created before';
  if (from === null) return `Created until ${dayOf(to ?? '')}`;
  return to === null ? `Created since ${dayOf(from)}` : `Created ${dayOf(from)} to ${dayOf(to)}`;
}

const count = (amount: number, one: string): string =>
  `${amount.toLocaleString('en-US')} ${one}${amount === 1 ? '' : 's'}`;
const kilobyte = 1024;
const percent = 100;

/** What became of it. Not announced while it runs: it changes all the time. */
function Outcome({ item }: { readonly item: ExportItem }) {
  const { status, rows, sizeBytes, progress, reason, expiresAt, lastDownload } = item;
  switch (status) {
    case 'queued':
    case 'running':
      return (
        <Group gap="sm">
          <progress aria-label="Progress of the export" max={1} value={progress} />
          <Text size="sm">
            {Math.floor(progress * percent)} %, {count(rows, 'record')} so far
          </Text>
        </Group>
      );
    case 'completed':
      return (
        <Text size="sm">
          {count(rows, 'record')}, {Math.ceil(sizeBytes / kilobyte).toLocaleString('en-US')} KB
          {expiresAt === null ? null : (
            <>
              , kept until <Time at={expiresAt} />
            </>
          )}
          .
          {lastDownload === null ? null : (
            <>
              {' '}
              Downloaded {count(lastDownload.count, 'time')}, last <Time at={lastDownload.at} /> by{' '}
              {lastDownload.email ?? 'somebody who was erased'}.
            </>
          )}
        </Text>
      );
    case 'failed':
      return <Text size="sm">The export failed{reason === null ? '' : `: ${reason}`}.</Text>;
    case 'expired':
      return <Text size="sm">The file was removed{reason === null ? '' : `: ${reason}`}.</Text>;
    case 'canceled':
      return null;
  }
}

function Actions({
  item: { exportId, status },
  name,
  mayAct,
}: Pick<ExportProps, 'item' | 'mayAct'> & { readonly name: string }) {
  const cancel = useMutation({
    mutationFn: () => call('cancelExport', { ids: { exportId } }),
    onSettled: refreshExports,
  });
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="sm">
        {status === 'completed' ? (
          <a
            href={`/dashboard/api/exports/${exportId}/file`}
            aria-label={`Download ${name}`}
            onClick={() => setTimeout(() => void refreshExports(), noticedMs)}
            download
          >
            Download
          </a>
        ) : null}
        {mayAct && isOpen({ status }) ? (
          <Button
            size="compact-sm"
            variant="default"
            loading={cancel.isPending}
            onClick={() => cancel.mutate()}
          >
            Cancel export
          </Button>
        ) : null}
      </Group>
      <FormProblem error={cancel.error} />
    </Stack>
  );
}

/** The browser begins the download after the click, and tells the page nothing of it. */
const noticedMs = 2_000;
