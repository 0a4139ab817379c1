/** `pis audit verify`: one reading of the whole log, and its report. */
import type pg from 'pg';
import { type Finding, type KnownCheckpoint, LogAudit } from './log-audit.js';
import type { LogSource } from './log-source.js';
import { type Found, Resume } from './resume.js';
import { StoredTree } from './stored-tree.js';

export interface VerifyOptions {
  readonly source: LogSource;
  /** Checkpoints that somebody kept. */
  readonly kept?: readonly KnownCheckpoint[];
  /** The checkpoints in the log itself, by size, from a revision of their stream on. */
  readonly signed?: (revision: number) => AsyncIterable<KnownCheckpoint>;
  /** Verifier keys: a checkpoint of the log that another key signed is a finding. */
  readonly keys?: readonly string[];
  /** The database with the stored tree, which is compared, too. */
  readonly treeIn?: pg.Pool;
  /** Called after each page with the events read so far. */
  readonly onPage?: (eventsRead: number) => void;
  readonly signal?: AbortSignal;
  readonly state?: StateOptions;
}

/** Where the audit keeps how far it is, so that it can go on after it was stopped. */
export interface StateOptions {
  /** Written every `everyMs`, and when the reading ends or fails. Whoever has the whole report removes it. */
  readonly file: string;
  readonly everyMs?: number;
  /** Called when the audit goes on, with the events that it had read. */
  readonly onResume?: (eventsRead: number) => void;
}

export interface VerifyReport {
  readonly ok: boolean;
  readonly eventsRead: number;
  readonly eventsPerSecond: number;
  readonly streams: number;
  readonly treeSize: number;
  /** Base64, of the whole log. */
  readonly rootHash: string;
  readonly checkpointsCompared: number;
  /** Leaves of the stored tree; null when it was left out. */
  readonly leavesCompared: number | null;
  /** Of the checkpoints in the log: compare them with those that you know. */
  readonly verifierKeys: readonly string[];
  /** The first findingsMax of them. */
  readonly findings: readonly Finding[];
  readonly findingsTotal: number;
}

const saveEveryMs = 30_000;
/** Findings of a report: the rest is counted. */
export const findingsMax = 1_000;

/**
 * @throws StoreUnavailable
 * @throws AuditStateUnusable when the audit cannot go on from the file of its state; nothing has begun
 */
export async function verifyLog(options: VerifyOptions): Promise<VerifyReport> {
  const { source, kept = [], keys = [], treeIn, state } = options;
  const { hasContiguousPositions } = source;
  const found: { findings: Finding[]; total: number } = { findings: [], total: 0 };
  const onFinding = (finding: Finding) => {
    found.total += 1;
    if (found.findings.length < findingsMax) found.findings.push(finding);
  };
  const tree = treeIn === undefined ? null : await StoredTree.open(treeIn, onFinding);
  const audit = new LogAudit({
    ...{ keys, hasContiguousPositions, onFinding },
    onLeaf: (event, nodes) => tree?.take(event, nodes),
  });
  const terms = { kept, keys, hasContiguousPositions };
  const resume =
    state === undefined ? null : new Resume(state.file, terms, state.everyMs ?? saveEveryMs, tree);
  const before = (await resume?.load(source, audit)) ?? null;
  if (before === null) kept.forEach((checkpoint) => audit.expect(checkpoint));
  else {
    found.findings.push(...before.findings);
    found.total = before.total;
    state?.onResume?.(audit.eventsRead);
  }
  const eventsReadBefore = audit.eventsRead;
  const startedMs = performance.now();
  try {
    await readAll(options, { audit, tree, resume, found });
  } finally {
    await resume?.save(audit, found);
  }
  audit.end(source.lastPosition());
  tree?.end(audit.treeSize);
  const seconds = (performance.now() - startedMs) / 1_000;
  return {
    ok: found.total === 0,
    eventsRead: audit.eventsRead,
    eventsPerSecond: Math.round((audit.eventsRead - eventsReadBefore) / seconds),
    streams: audit.streams,
    treeSize: audit.treeSize,
    rootHash: audit.rootHash,
    checkpointsCompared: audit.checkpointsCompared,
    leavesCompared: tree?.progress.compared ?? null,
    verifierKeys: audit.verifierKeys,
    findings: found.findings,
    findingsTotal: found.total,
  };
}

interface Run {
  readonly audit: LogAudit;
  readonly tree: StoredTree | null;
  readonly resume: Resume | null;
  readonly found: Found;
}

/** The log from where the audit is. Stops between two pages only: a page is taken as a whole. */
async function readAll(
  { source, signed, onPage, signal }: VerifyOptions,
  { audit, tree, resume, found }: Run,
): Promise<void> {
  const checkpoints = signed?.(audit.nextSigned)[Symbol.asyncIterator]();
  const ahead = checkpoints === undefined ? null : new Ahead(checkpoints);
  // Before the end of the log is known: a checkpoint that is signed later may count more leaves.
  for (const checkpoint of (await ahead?.upTo(0)) ?? []) audit.expect(checkpoint);
  for await (const page of source.pages(resume?.position)) {
    for (const checkpoint of (await ahead?.upTo(audit.treeSize + page.length)) ?? [])
      audit.expect(checkpoint);
    for (const event of page) audit.take(event);
    await tree?.compare();
    resume?.took(page, audit);
    await resume?.saveWhenDue(audit, found);
    onPage?.(audit.eventsRead);
    signal?.throwIfAborted();
  }
  for (const checkpoint of (await ahead?.upTo(Infinity)) ?? []) audit.expect(checkpoint);
}

/** Checkpoints by size, taken from an iterator as far as they are needed. */
class Ahead {
  #next: KnownCheckpoint | null = null;
  #isDone = false;

  constructor(private readonly checkpoints: AsyncIterator<KnownCheckpoint>) {}

  async upTo(treeSize: number): Promise<KnownCheckpoint[]> {
    const found: KnownCheckpoint[] = [];
    for (;;) {
      if (this.#next === null && !this.#isDone) await this.#advance();
      if (this.#next === null || this.#next.treeSize > treeSize) return found;
      found.push(this.#next);
      this.#next = null;
    }
  }

  async #advance(): Promise<void> {
    const { done = false, value } = await this.checkpoints.next();
    if (done) this.#isDone = true;
    else this.#next = value as KnownCheckpoint;
  }
}
