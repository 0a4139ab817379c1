/** What the tables must have before a statement is computed from them. */
import { type EventStore, type Position } from '@pis/event-store';
import { pause } from '@pis/postgres';
import {
  type ActivityBalance,
  type ActivityOwner,
  aheadOfLog,
  hasReached,
  heldText,
  heldTransferOf,
  lacksLateRejections,
} from '@pis/read-models';
import type pg from 'pg';

interface Sources {
  readonly store: EventStore;
  readonly pool: pg.Pool;
}

interface WaitingSources extends Sources {
  readonly signal: AbortSignal;
}

/** The tables lack something that the statement must have. Nothing is recorded; a later round tries again. */
export class StatementPostponed extends Error {
  override readonly name = 'StatementPostponed';
}

/** A table is behind the log, for every originator. */
export class TableBehind extends StatementPostponed {}

/** For the tables that the statement is computed from. */
const projectionLimitMs = 60_000;
const projectionPollMs = 200;

/**
 * A log that was restored from an older backup lacks events that the tables have until they are rebuilt. They would be
 * on this statement, and once more when they are recorded again. Tables of an earlier release lack late rejections:
 * these would be on no statement.
 * @throws StatementPostponed
 */
export async function assertTables(sources: Sources): Promise<void> {
  const projection = await aheadOfLog(sources, ['directory', 'movements']);
  if (projection !== null)
    throw new StatementPostponed(
      `the projection ${projection} has events that the log does not have: rebuild it`,
    );
  if (await lacksLateRejections(sources.pool))
    throw new StatementPostponed(
      'the projection movements has rows of an earlier release, which lack late rejections: rebuild it',
    );
}

/**
 * A statement that does not begin as the one before it ended would hide a payment, or show one twice.
 * @param before the closing figures of the statement before
 * @throws StatementPostponed
 */
export function assertContinues(opening: ActivityBalance, before: ActivityBalance): void {
  const parts = ['inProgressIn', 'inProgressOut'] as const;
  const isSame =
    opening.feesDueMinor === before.feesDueMinor &&
    parts.every(
      (part) =>
        opening[part].count === before[part].count &&
        opening[part].amountMinor === before[part].amountMinor,
    );
  if (!isSame)
    throw new StatementPostponed(
      'the opening figures differ from the closing figures of the statement before: rebuild the projection movements',
    );
}

/**
 * Once this resolves, the tables have everything of the originator up to the position.
 * @throws StatementPostponed
 */
export async function assertComplete(
  { store, pool, signal }: WaitingSources,
  originator: ActivityOwner,
  through: Position,
): Promise<void> {
  await untilReached({ store, pool, signal }, 'movements', through);
  // After the position was reached: a stream is held back before the checkpoint passes it.
  const held = await heldTransferOf({ store, pool }, originator);
  if (held !== null) throw new StatementPostponed(heldText(held, 'movements'));
}

/** Waits until a projection has applied the log up to a position. @throws TableBehind after a minute */
export async function untilReached(
  { store, pool, signal }: WaitingSources,
  projection: 'directory' | 'movements',
  position: Position,
): Promise<void> {
  const limit = AbortSignal.timeout(projectionLimitMs);
  while (!(await hasReached({ store, pool }, projection, position))) {
    if (limit.aborted) throw new TableBehind(`the projection ${projection} is behind`);
    signal.throwIfAborted();
    await pause(projectionPollMs, AbortSignal.any([limit, signal]));
  }
}
