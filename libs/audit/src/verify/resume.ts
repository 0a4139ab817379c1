/** Where an audit stopped, and whether the log is still the one that it read. */
import { hash } from 'node:crypto';
import { endianness } from 'node:os';
import { beginning, type Position } from '@pis/event-store';
import type { Finding, KnownCheckpoint, LogAudit, LogProgress } from './log-audit.js';
import type { LogSource } from './log-source.js';
import { statuses } from './payment-rules.js';
import { AuditStateFile, AuditStateUnusable, framesOf, type StateReader } from './state-file.js';
import type { StoredEvent } from './stored-event.js';
import type { StoredTree, TreeProgress } from './stored-tree.js';

/** The events that tell one log from another: the first one, and the last two that were read. */
interface Place {
  readonly first: string;
  readonly last: string;
  readonly position: Position;
  /** Of the event before the last one. */
  readonly before: Position;
}

/** What must be the same when the audit goes on. */
export interface Terms {
  readonly kept: readonly KnownCheckpoint[];
  readonly keys: readonly string[];
  readonly hasContiguousPositions: boolean;
}

interface Header {
  readonly terms: Terms;
  readonly machine: Machine;
  readonly place: Place;
  readonly findings: readonly Finding[];
  readonly findingsTotal: number;
  readonly log: LogProgress;
  /** Absent in files of earlier releases; null when the stored tree was left out. */
  readonly tree?: TreeProgress | null;
}

/** How numbers in the tables are to be read. */
interface Machine {
  readonly endianness: string;
  readonly statuses: readonly string[];
}

const machine: Machine = { endianness: endianness(), statuses };

/** Of the findings, the first ones are kept and all are counted. */
export interface Found {
  readonly findings: readonly Finding[];
  readonly total: number;
}

/** Saves an audit now and then, and takes it up again. */
export class Resume {
  readonly #state: AuditStateFile;
  #first: string | null = null;
  #last: { readonly event: StoredEvent; readonly before: Position } | null = null;
  #eventsTaken = 0;
  #isSaved = true;
  #savedAtMs = performance.now();

  constructor(
    file: string,
    private readonly terms: Terms,
    private readonly everyMs: number,
    private readonly tree: StoredTree | null = null,
  ) {
    this.#state = new AuditStateFile(file);
  }

  /**
   * Takes up the audit of the file, if there is one.
   *
   * @returns what it had found
   * @throws AuditStateUnusable for a damaged file, another log or other options: then nothing has begun
   */
  async load(source: LogSource, audit: LogAudit): Promise<Found | null> {
    let found: Found | null = null;
    await this.#state.load(async (reader) => {
      const header = await headerOf(reader);
      this.#checkTerms(header);
      await this.#checkLog(source, header.place);
      await audit.restore(header.log, reader);
      if (header.tree) this.tree?.restore(header.tree);
      found = { findings: header.findings, total: header.findingsTotal };
    });
    return found;
  }

  /** The position to go on behind. */
  get position(): Position {
    return this.#last?.event.position ?? beginning;
  }

  /** A page that the audit has taken whole. */
  took(page: readonly StoredEvent[], audit: LogAudit): void {
    const last = page.at(-1);
    const first = page[0];
    if (last === undefined || first === undefined) return;
    this.#first ??= markOf(first);
    this.#last = { event: last, before: page.at(-2)?.position ?? this.position };
    this.#eventsTaken = audit.eventsRead;
    this.#isSaved = false;
  }

  async saveWhenDue(audit: LogAudit, found: Found): Promise<void> {
    if (performance.now() - this.#savedAtMs >= this.everyMs) await this.save(audit, found);
  }

  /** Not in the middle of a page. */
  async save(audit: LogAudit, { findings, total }: Found): Promise<void> {
    if (this.#isSaved || this.#last === null || this.#first === null) return;
    if (audit.eventsRead !== this.#eventsTaken) return;
    const { event, before } = this.#last;
    const header: Header = {
      ...{ terms: this.terms, machine, findings, findingsTotal: total, log: audit.progress },
      tree: this.tree?.progress ?? null,
      place: { first: this.#first, last: markOf(event), position: event.position, before },
    };
    await this.#state.save(partsOf(header, audit));
    this.#isSaved = true;
    this.#savedAtMs = performance.now();
  }

  #checkTerms(header: Header): void {
    const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
    if (!isSame(header.terms, this.terms))
      this.#refuse('it is of an audit with other checkpoints, keys or another kind of event store');
    if (!isSame(header.machine, machine))
      this.#refuse('it was written by another release, or on another kind of machine');
  }

  async #checkLog(source: LogSource, place: Place): Promise<void> {
    const first = await firstBehind(source, beginning);
    if (first === null || markOf(first) !== place.first)
      this.#refuse('it is of another log: the first event is another one');
    const last = await firstBehind(source, place.before);
    if (last === null || markOf(last) !== place.last)
      this.#refuse(
        `the log has changed since: another event is at position ${place.position.replace(/^0+/, '')}`,
      );
    this.#first = place.first;
    this.#last = { event: last, before: place.before };
  }

  #refuse(why: string): never {
    throw new AuditStateUnusable(`${this.#state.file}: ${why}`);
  }
}

function* partsOf(header: Header, audit: LogAudit): Generator<Uint8Array, void, undefined> {
  yield* framesOf([header]);
  yield* audit.parts();
}

async function headerOf(reader: StateReader): Promise<Header> {
  let header: unknown;
  for await (const record of reader.records()) header = record;
  return header as Header;
}

async function firstBehind(source: LogSource, after: Position): Promise<StoredEvent | null> {
  for await (const [event] of source.pages(after)) if (event !== undefined) return event;
  return null;
}

function markOf({ streamId, revision, position, id, type, data, metadata }: StoredEvent): string {
  return hash(
    'sha256',
    JSON.stringify([streamId, revision, position, id, type, data, metadata]),
    'hex',
  );
}
