/**
 * Writes the files of exports. It holds several exports at a time and works on one of them in each round, until a part
 * is written or a second has passed; organizations take turns. So a large export delays the others by a second, and
 * memory is bounded by a part.
 *
 * What is in a file: the records that were created by the time of the request, each exactly once, as it was when its
 * page was read. Records do not change their `createdAt`, so what changes meanwhile cannot be skipped or repeated.
 * The export begins when the lists have reached the log's end of that time.
 *
 * Leases are prolonged between pages and chunks, so no lease ends while its export makes progress. A process that dies
 * leaves leases that end. Whoever takes the export over reads its parts again for the hash and goes on behind the
 * last one.
 */
import { createHash, type Hash } from 'node:crypto';
import { DocumentStoreRefused } from '@pis/documents';
import { isQueryCanceled, isTransient } from '@pis/postgres';
import type { ProjectionProgress } from '@pis/read-models';
import { type ExportRemovalOptions, ExportRemovals } from './export-removals.js';
import { ExportLeaseLost, ExportWork, type LeasedExport } from './export-work.js';
import type { Piece } from './piece.js';
import type { PieceSources } from './pieces.js';

export interface ExportWorkerLimits {
  readonly leaseMs: number;
  /** Plain bytes from which on a part is written. */
  readonly partBytes: number;
  /** After this time it is the next export's turn, even if the part is smaller. */
  readonly turnMs: number;
  readonly heldMax: number;
  /** Of one organization, in all processes. */
  readonly perOrganizationMax: number;
  /** From this number on, the process takes exports only of organizations without one under way. */
  readonly sharedMax: number;
  readonly fileBytesMax: number;
  readonly keptForDays: number;
  readonly filesMax: number;
  readonly recordsKeptForDays: number;
}

const mebibyte = 1024 * 1024;

export const exportLimits: ExportWorkerLimits = {
  leaseMs: 60_000,
  partBytes: 4 * mebibyte,
  turnMs: 1_000,
  heldMax: 16,
  perOrganizationMax: 2,
  sharedMax: 8,
  fileBytesMax: 4 * 1024 * mebibyte,
  keptForDays: 7,
  filesMax: 20,
  recordsKeptForDays: 30,
};

/** While an export is open that cannot be taken yet, or files are to be removed. */
const pollMs = 2_000;
const cleanEveryMs = 30_000;
const pruneEveryMs = 60_000;
const prunedMax = 100;
/** Until the lists are asked again how far they have come. */
const behindMs = 500;
/** Until quarantine is asked again. Operators are told of it by its own metrics. */
const heldMs = 15_000;
const chunkBytes = 256 * 1024;
export const failuresMax = 5;
/** After the first failure. Each further one doubles it. */
const failedPauseMs = 2_000;
/** While the store of documents refuses. */
const refusedPauseMs = 15_000;
const tookTooLong = 'a query took too long: choose a shorter time, or try again later';

export interface ExportWorkerOptions extends ExportRemovalOptions {
  readonly sources: PieceSources;
  /** Of the lists that the kind is read from; null where they are written at once. */
  readonly progressOf: (kind: LeasedExport['kind']) => ProjectionProgress | null;
  /** Whether something that belongs in the file is held back in quarantine. */
  readonly isHeld: (
    leased: Pick<LeasedExport, 'kind' | 'organizationId' | 'originatorId'>,
  ) => Promise<boolean>;
  /** A failure that ended an export or will be retried. */
  readonly onFailure: (error: unknown, exportId: string) => void;
  readonly limits?: Partial<ExportWorkerLimits>;
  /** Milliseconds until the next round while there is no work at all; default: as often as while there is. */
  readonly idleMs?: () => number;
  /** Of a clock that only moves forward; default: that of the process. */
  readonly nowMs?: () => number;
}

/** An export under way in this process. */
interface Held {
  leased: LeasedExport;
  readonly pieces: AsyncGenerator<Piece>;
  /** Bytes of earlier leases that the hash does not have yet. */
  readonly stored: AsyncGenerator<Uint8Array>;
  readonly hash: Hash;
  /** A piece that was read to see whether there is more. */
  following: Piece | null;
}

export class ExportWorker {
  private readonly limits: ExportWorkerLimits;
  private readonly work: ExportWork;
  private readonly removals: ExportRemovals;
  private readonly nowMs: () => number;
  /** In the order of their turns. */
  private held: Held[] = [];
  private cleanedAtMs = -Infinity;
  private prunedAtMs = -Infinity;
  private prolongedAtMs = -Infinity;

  constructor(private readonly options: ExportWorkerOptions) {
    this.limits = { ...exportLimits, ...options.limits };
    this.work = new ExportWork(options.pool, this.limits);
    this.removals = new ExportRemovals(options);
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /** @returns milliseconds until the next round */
  async round(): Promise<number> {
    await this.prolong();
    const isClean = await this.upkeep();
    await this.lease();
    const [next] = this.held;
    if (next !== undefined) {
      await this.turn(next);
      return 0;
    }
    const { idleMs } = this.options;
    const isIdle = isClean && idleMs !== undefined && !(await this.work.hasOpen());
    return isIdle ? idleMs() : pollMs;
  }

  /** Returns the leases, so that another process goes on at once. */
  async stop(): Promise<void> {
    const { held } = this;
    this.held = [];
    for (const one of held) {
      await endReading(one);
      await this.work.release(one.leased, 0);
    }
  }

  /** Of all that are held. Does nothing if that was done a short time ago. */
  private async prolong(): Promise<void> {
    if (this.nowMs() - this.prolongedAtMs < this.limits.leaseMs / 4) return;
    this.prolongedAtMs = this.nowMs();
    const kept = await this.work.prolong(this.held.map(({ leased }) => leased.leaseId));
    for (const one of this.held) if (!kept.has(one.leased.leaseId)) await this.drop(one);
  }

  /** Between two steps of a turn. @throws ExportLeaseLost */
  private async keep(held: Held): Promise<void> {
    await this.prolong();
    if (!this.held.includes(held))
      throw new ExportLeaseLost(`export ${held.leased.id} is no longer ours`);
  }

  /** Takes one more, if any waits. */
  private async lease(): Promise<void> {
    const { heldMax, sharedMax, perOrganizationMax } = this.limits;
    if (this.held.length >= heldMax) return;
    const leased = await this.work.lease(this.held.length < sharedMax ? perOrganizationMax : 1);
    if (leased === null) return;
    try {
      if (await this.isBehind(leased)) {
        await this.work.release(leased, behindMs);
        return;
      }
      if (leased.parts === 0 && (await this.options.isHeld(leased))) {
        await this.work.release(leased, heldMs, { isHeldUp: true });
        return;
      }
      this.held.unshift(await this.begin(leased));
    } catch (error) {
      await this.failed(leased, error);
    }
  }

  private async isBehind({ kind, throughPosition, parts }: LeasedExport): Promise<boolean> {
    const progress = parts > 0 ? null : this.options.progressOf(kind);
    return progress !== null && !(await progress.waitFor(throughPosition, behindMs));
  }

  private async begin(given: LeasedExport): Promise<Held> {
    const source = this.options.sources(given.kind, given.format);
    if (source === null) throw new Error(`no ${given.format} of ${given.kind} can be written`);
    const isBroken = given.parts > 0 && !source.isResumable;
    const leased = isBroken ? await this.work.restart(given) : given;
    if (leased.expectedRows === null) await this.work.expect(leased, await source.count(leased));
    const stored = this.options.files.read(leased, { start: 0, end: leased.sizeBytes });
    const pieces = source.pieces(leased);
    return { leased, pieces, stored, hash: createHash('sha256'), following: null };
  }

  /** Writes one part, or as much as there is time for. */
  private async turn(held: Held): Promise<void> {
    const endMs = this.nowMs() + this.limits.turnMs;
    try {
      const isHashed = await this.hashStored(held, endMs);
      const isWhole = isHashed && (await this.writePart(held, endMs));
      this.held = this.held.filter((one) => one !== held);
      if (isWhole) return;
      // Behind the others of the organization, and behind those of other organizations.
      this.held.push(held);
      const { organizationId } = held.leased;
      const first = this.held.findIndex(({ leased }) => leased.organizationId !== organizationId);
      if (first > 0) this.held.unshift(...this.held.splice(first, 1));
    } catch (error) {
      await this.drop(held);
      await this.failed(held.leased, error);
    }
  }

  /** @returns whether the hash has all parts */
  private async hashStored(held: Held, endMs: number): Promise<boolean> {
    for (;;) {
      const { value, done } = await held.stored.next();
      if (done === true) return true;
      held.hash.update(value);
      await this.keep(held);
      if (this.nowMs() >= endMs) return false;
    }
  }

  /** @returns whether it was the last part */
  private async writePart(held: Held, endMs: number): Promise<boolean> {
    const { leased, hash } = held;
    const { partBytes, fileBytesMax } = this.limits;
    const texts: Buffer[] = [];
    let [sizeBytes, rows, cursor] = [0, 0, leased.nextCursor ?? ''];
    let piece = held.following ?? (await nextOf(held.pieces));
    while (piece !== null) {
      const bytes = Buffer.from(piece.text);
      texts.push(bytes);
      sizeBytes += bytes.length;
      rows += piece.rows;
      cursor = piece.cursor;
      await this.keep(held);
      piece = await nextOf(held.pieces);
      if (sizeBytes >= partBytes || this.nowMs() >= endMs) break;
    }
    await this.keep(held);
    held.following = piece;
    // Records of others alone: there is no part without bytes but an empty file's only one.
    if (sizeBytes === 0 && piece !== null) return false;
    if (leased.sizeBytes + sizeBytes > fileBytesMax) throw new ExportTooLarge(fileBytesMax);
    const bytes = Buffer.concat(texts);
    const { fileId, leaseId, parts: part } = leased;
    await this.work.beginPart(leased, part);
    await this.options.files.write({ fileId, part, leaseId }, this.chunksOf(bytes, held));
    hash.update(bytes);
    const sha256 = piece === null ? hash.copy().digest('hex') : null;
    await this.work.addPart(leased, part, { sizeBytes, rows, cursor, sha256 }, this.limits);
    held.leased = {
      ...leased,
      parts: part + 1,
      nextCursor: cursor,
      sizeBytes: leased.sizeBytes + sizeBytes,
    };
    return piece === null;
  }

  /** For a store that takes its time. @throws ExportLeaseLost */
  private async *chunksOf(bytes: Buffer, held: Held): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      await this.keep(held);
      yield bytes.subarray(at, at + chunkBytes);
    }
  }

  private async drop(held: Held): Promise<void> {
    this.held = this.held.filter((one) => one !== held);
    await endReading(held);
  }

  /** Whoever takes it next begins at what is stored. */
  private async failed(leased: LeasedExport, error: unknown): Promise<void> {
    const { fileId, leaseId, parts: part, id } = leased;
    if (error instanceof ExportLeaseLost) {
      await this.options.files.remove({ fileId, part, leaseId });
      return;
    }
    this.options.onFailure(error, id);
    // Not the fault of the export: it waits until an operator has acted, for example for new credentials.
    if (error instanceof DocumentStoreRefused)
      return this.work.release(leased, refusedPauseMs, { isHeldUp: true });
    const isSlow = isQueryCanceled(error);
    if (isTransient(error) && !isSlow)
      return this.work.release(leased, failedPauseMs, { isHeldUp: true });
    const isTooLarge = error instanceof ExportTooLarge;
    await this.work.failed(leased, {
      reason: isTooLarge ? error.message : isSlow ? tookTooLong : 'an unexpected error occurred',
      failuresMax: isTooLarge ? 1 : failuresMax,
      pauseMs: failedPauseMs * 2 ** leased.failures,
    });
  }

  /** What files leave behind. @returns false when there may be more of it */
  private async upkeep(): Promise<boolean> {
    const nowMs = this.nowMs();
    if (nowMs - this.cleanedAtMs < cleanEveryMs) return true;
    // A file is looked at twice until it is forgotten, and a round may complete one that replaces another.
    const isClean = !(await this.removals.removeNext()) || !(await this.removals.removeNext());
    if (isClean) this.cleanedAtMs = nowMs;
    if (nowMs - this.prunedAtMs >= pruneEveryMs) {
      await this.work.prune(this.limits, prunedMax);
      this.prunedAtMs = nowMs;
    }
    return isClean;
  }
}

class ExportTooLarge extends Error {
  override readonly name = 'ExportTooLarge';
  constructor(bytesMax: number) {
    super(`the file would exceed ${bytesMax / mebibyte} MiB: choose a shorter time`);
  }
}

async function endReading({ pieces, stored }: Held): Promise<void> {
  await pieces.return(undefined);
  await stored.return(undefined);
}

async function nextOf(pieces: AsyncGenerator<Piece>): Promise<Piece | null> {
  const { value, done } = await pieces.next();
  return done === true ? null : value;
}
