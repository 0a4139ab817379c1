/** What must hold of payments and the bank's books, whatever happened. It does not know the workload. */
import { paymentIdOfRailReference } from '@pis/bank-rails';
import { streamNameOf } from '@pis/domain';
import type { World } from './world.js';

export interface Audit {
  /** What does not hold, one line each. */
  readonly findings: readonly string[];
  /** How many payments ended with each event. */
  readonly endedWith: Readonly<Record<string, number>>;
}

export async function audit(world: World): Promise<Audit> {
  const books = await world.pool.query<{ reference: string; executions: number }>(
    'SELECT reference, executions FROM bank_transfers',
  );
  const executions = new Map(
    books.rows.map((row) => [paymentIdOfRailReference(row.reference), row.executions]),
  );
  const log = await world.store.readLog({ after: '', pageMax: 100_000 });
  const histories = Map.groupBy(log.events, ({ streamId }) => streamId);
  const findings: string[] = [];
  const endedWith: Record<string, number> = {};
  for (const [streamId, events] of histories) {
    const history = events.map(({ type }) => type.replace(/^Payment/, ''));
    const executed = executions.get(streamNameOf(streamId)?.id ?? null) ?? 0;
    const last = history.at(-1) ?? '';
    endedWith[last] = (endedWith[last] ?? 0) + 1;
    const found = (what: string) => findings.push(`${what}: ${history.join()}, ${streamId}`);
    if (executed > 1) found(`executed ${executed} times`);
    if (history.includes('Failed') && executed > 0) found('FAILED and executed');
    if (history.includes('Completed') && executed === 0) found('COMPLETED and not executed');
    if (last === 'Queued' || last === 'Processing') found('stands still');
    if (!history.includes('Processing') && executed > 0) found('executed and never claimed');
  }
  return { findings, endedWith };
}
