/** Downloads the payments of the list as CSV, with progress. A download that breaks off is not saved. */
import { Alert, Button, Group, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { ApiFailure, stream } from '../api.js';
import { CsvRows } from './csv-rows.js';
import type { PaymentSearch } from './payment-search.js';

type Export =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly rows: number }
  | { readonly state: 'done'; readonly rows: number }
  | { readonly state: 'failed'; readonly message: string };

const shownEveryMs = 200;
const keptMs = 60_000;

export interface CsvExport {
  readonly export: Export;
  start(): void;
  cancel(): void;
}

export function useCsvExport(search: PaymentSearch): CsvExport {
  const [state, setState] = useState<Export>({ state: 'idle' });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const start = () => {
    const ending = new AbortController();
    running.current = ending;
    setState({ state: 'running', rows: 0 });
    download(search, ending.signal, (rows) => setState({ state: 'running', rows })).then(
      (rows) => setState({ state: 'done', rows }),
      (error: unknown) => {
        if (ending.signal.aborted) setState({ state: 'idle' });
        else setState({ state: 'failed', message: messageOf(error) });
      },
    );
  };
  return { export: state, start, cancel: () => running.current?.abort() };
}

/** @returns the number of payments. @throws ApiFailure, TypeError when it breaks off */
async function download(
  search: PaymentSearch,
  signal: AbortSignal,
  onRows: (rows: number) => void,
): Promise<number> {
  const response = await stream('exportPayments', { query: search, signal });
  const reader = response.body?.getReader();
  if (reader === undefined) throw new TypeError('the answer is empty');
  const rows = new CsvRows();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let shownAtMs = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    rows.add(value);
    if (performance.now() - shownAtMs < shownEveryMs) continue;
    shownAtMs = performance.now();
    onRows(rows.count);
  }
  save(new Blob(parts, { type: 'text/csv' }));
  return rows.count;
}

function save(file: Blob): void {
  const url = URL.createObjectURL(file);
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = `payments-${new Date().toISOString().slice(0, 10)}.csv`;
  anchor.click();
  // The browser reads the file after the click.
  setTimeout(() => URL.revokeObjectURL(url), keptMs);
}

function messageOf(error: unknown): string {
  return error instanceof ApiFailure
    ? error.explanation
    : 'The download broke off. Nothing was saved. Try again.';
}

/** What becomes of the download. */
export function ExportProgress({ download }: { readonly download: CsvExport }) {
  const { export: current, start, cancel } = download;
  if (current.state === 'idle') return null;
  if (current.state === 'failed')
    return (
      <Alert color="red" variant="light" role="alert" mb="md" title="The export failed">
        <Group gap="sm">
          <Text size="sm">{current.message}</Text>
          <Button size="xs" variant="default" onClick={start}>
            Try again
          </Button>
        </Group>
      </Alert>
    );
  const count = `${current.rows.toLocaleString('en-US')} payment${current.rows === 1 ? '' : 's'}`;
  if (current.state === 'done')
    return (
      <Text size="sm" mb="md" role="status">
        Exported {count}
      </Text>
    );
  // Not announced: it changes several times a second.
  return (
    <Group gap="sm" mb="md">
      <progress aria-label="Export" className="export-progress" />
      <Text size="sm">Exporting: {count} so far</Text>
      <Button size="compact-sm" variant="default" onClick={cancel}>
        Cancel export
      </Button>
    </Group>
  );
}
