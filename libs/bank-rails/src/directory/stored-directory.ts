/**
 * The routing directory in PostgreSQL, remembered in memory.
 *
 * What always holds: an answer is that of one import, and no older than freshMs. Each import raises the
 * generation of the directory. A process that uses what it remembers asks for the generation at least every
 * freshMs, and forgets everything when it has changed.
 */
import type { Environment, PaymentRail } from '@pis/domain';
import type pg from 'pg';
import {
  type DirectoryEntry,
  type DirectoryKind,
  directoryKinds,
  railOfKind,
  type RoutingDirectory,
} from './routing-directory.js';
import { sandboxEntries } from './sandbox-directory.js';

const freshMs = 2_000;
/** Numbers that are remembered, known and unknown ones. The largest participant list has about 20,000. */
const rememberedMax = 50_000;

interface Row {
  readonly generation: string;
  readonly kind: DirectoryKind | null;
  readonly bank_name: string;
  readonly takes_part: boolean;
  readonly is_removed: boolean;
}

export interface StoredDirectoryOptions {
  /** What answers for numbers that no import ever had. */
  readonly shipped?: ReadonlyMap<string, DirectoryEntry>;
  /** Monotonic, milliseconds; injected by tests. */
  readonly elapsedMs?: () => number;
}

/** The directory of a process. In the sandbox, the shipped one answers for numbers that no import ever had. */
export function openRoutingDirectory(pool: pg.Pool, environment: Environment): RoutingDirectory {
  return new StoredDirectory(pool, environment === 'sandbox' ? { shipped: sandboxEntries } : {});
}

export class StoredDirectory implements RoutingDirectory {
  private readonly remembered = new Map<string, DirectoryEntry | null>();
  private readonly reading = new Map<string, Promise<DirectoryEntry | null>>();
  private generation: string | null = null;
  /** When the read began that found this generation. */
  private verifiedAtMs = -Infinity;
  private verifying: Promise<void> | null = null;
  private readonly shipped: ReadonlyMap<string, DirectoryEntry>;
  private readonly elapsedMs: () => number;

  constructor(
    private readonly pool: pg.Pool,
    {
      shipped = new Map<string, DirectoryEntry>(),
      elapsedMs = () => performance.now(),
    }: StoredDirectoryOptions = {},
  ) {
    this.shipped = shipped;
    this.elapsedMs = elapsedMs;
  }

  async find(routingNumber: string): Promise<DirectoryEntry | null> {
    if (this.elapsedMs() - this.verifiedAtMs > freshMs) await this.verify();
    const known = this.remembered.get(routingNumber);
    if (known !== undefined) return known;
    const underWay = this.reading.get(routingNumber);
    if (underWay !== undefined) return underWay;
    const reading = this.read(routingNumber).finally(() => {
      if (this.reading.get(routingNumber) === reading) this.reading.delete(routingNumber);
    });
    this.reading.set(routingNumber, reading);
    return reading;
  }

  /** One question for all who wait. */
  private verify(): Promise<void> {
    this.verifying ??= this.readGeneration().finally(() => (this.verifying = null));
    return this.verifying;
  }

  private async readGeneration(): Promise<void> {
    const beganAtMs = this.elapsedMs();
    const { rows } = await this.pool.query<Pick<Row, 'generation'>>(
      'SELECT generation FROM routing_directory_state',
    );
    this.found(generationOf(rows), beganAtMs);
  }

  private async read(routingNumber: string): Promise<DirectoryEntry | null> {
    const beganAtMs = this.elapsedMs();
    // One statement: the generation and the rows are of one moment.
    const { rows } = await this.pool.query<Row>(
      `SELECT s.generation, d.kind, d.bank_name, d.takes_part, d.removed_at IS NOT NULL AS is_removed
         FROM routing_directory_state s
         LEFT JOIN routing_directory d ON d.routing_number = $1`,
      [routingNumber],
    );
    const generation = generationOf(rows);
    this.found(generation, beganAtMs);
    const listed = rows.filter(({ kind }) => kind !== null);
    const entry = listed.length === 0 ? (this.shipped.get(routingNumber) ?? null) : entryOf(listed);
    // A later read may have found the next generation meanwhile.
    if (generation === this.generation) this.remember(routingNumber, entry);
    return entry;
  }

  private found(generation: string, beganAtMs: number): void {
    if (beganAtMs < this.verifiedAtMs) return;
    if (generation !== this.generation) {
      this.remembered.clear();
      this.reading.clear();
    }
    this.generation = generation;
    this.verifiedAtMs = beganAtMs;
  }

  private remember(routingNumber: string, entry: DirectoryEntry | null): void {
    if (this.remembered.size >= rememberedMax)
      for (const oldest of this.remembered.keys()) {
        this.remembered.delete(oldest);
        break;
      }
    this.remembered.set(routingNumber, entry);
  }
}

function generationOf([row]: readonly Pick<Row, 'generation'>[]): string {
  if (row === undefined) throw new Error('routing_directory_state has no row');
  return row.generation;
}

/** Null for a number that every list has dropped. The name is that of the first list that has the number. */
function entryOf(rows: readonly Row[]): DirectoryEntry | null {
  const listed = directoryKinds.flatMap(
    (kind) => rows.find((row) => row.kind === kind && !row.is_removed) ?? [],
  );
  const [first] = listed;
  if (first === undefined) return null;
  const rails = listed.flatMap(({ kind, takes_part }): PaymentRail[] =>
    kind !== null && kind !== 'fedach' && takes_part ? [railOfKind[kind]] : [],
  );
  return { bankName: first.bank_name, rails: ['ACH', ...rails] };
}
