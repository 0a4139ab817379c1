/** `pis keys seal-history`: seals what older releases have left in plain text, and says what cannot be sealed. */
import { deletePlainSnapshots } from '@pis/service-kit/stores';
import type { Command } from 'commander';
import { plainHistory, type PlainHistory } from '../keys/plain-history.js';
import { act, recordedCommand, type RecordedOptions } from '../operator-action.js';
import { print } from '../output.js';

interface SealedHistory extends PlainHistory {
  /** Snapshots in plain text; they are written again, sealed, when they are needed. */
  readonly snapshotsDeleted: number;
}

const progressEveryMs = 5_000;

const staying =
  'These events stay in plain text, because events are immutable: erasing one of these parties does not ' +
  'erase them. They go when their stream is archived. See docs/operations.md, "Personal data".';

/** Adds the command to `pis keys`. */
export function addSealHistory(keys: Command): void {
  recordedCommand(
    keys,
    'seal-history',
    'seal what older releases left in plain text; report what stays plain',
  ).action(async (options: RecordedOptions) => {
    const action = {
      name: 'keys seal-history',
      subject: {},
      outcome: ({ parties, ...report }: SealedHistory) => ({ ...report, parties: parties.length }),
    } as const;
    const report = await act(options, action, async ({ pool, store }) => ({
      ...(await plainHistory(store, progressLine())),
      snapshotsDeleted: await deletePlainSnapshots(pool),
    }));
    if (options.json === true) print(report, options);
    else process.stdout.write(`${told(report)}\n`);
  });
}

function told({ plainEvents, parties, hasMoreParties, snapshotsDeleted }: SealedHistory): string {
  const counts = Object.entries(plainEvents).map(([category, count]) => `${category}: ${count}`);
  const isPlain = Object.values(plainEvents).some((count) => count > 0);
  return [
    `snapshots in plain text, deleted: ${snapshotsDeleted}`,
    `events in plain text: ${counts.join(', ')}`,
    `parties in them: ${parties.length}${hasMoreParties ? ' and more' : ''}`,
    ...(isPlain ? [staying] : []),
  ].join('\n');
}

function progressLine(): (eventsRead: number) => void {
  let toldAtMs = performance.now();
  return (eventsRead) => {
    if (performance.now() - toldAtMs < progressEveryMs) return;
    toldAtMs = performance.now();
    process.stderr.write(`pis: ${eventsRead} events read\n`);
  };
}
