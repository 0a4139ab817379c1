/**
 * The payments of a list as a CSV file, page by page: the memory it takes does not depend on the number of
 * payments, and a client that reads slowly is waited for, as long as it reads at a minimum rate. Payments that were created after the beginning are not in
 * it. If anything fails, the connection breaks off, which a client notices: an answer that ends is whole.
 */
import { Readable } from 'node:stream';
import type { PaymentFilter } from '@pis/contracts';
import { csvLine, paymentHeader, paymentValues } from '@pis/exports';
import { now, RateLimited } from '@pis/http-api';
import type { PaymentsQuery } from '@pis/read-models';
import type { SessionWatch } from '../live/session-watch.js';

const perOrganizationMax = 2;
const perProcessMax = 8;
/** An organization gets its second one only while fewer are running. The rest is for organizations without any. */
const perProcessSecondMax = 4;
const fullWaitSeconds = 10;
const pageMax = 500;
/** Not read by the client yet. The next page is read when there is less. */
const unreadBytesMax = 64 * 1024;
/** Of lines that are handed over at once. */
const pieceLines = 50;
/** A client takes at least so many bytes in so much time: 16 KiB/s. The time in which we read a page does not count. */
const leastRead: LeastRead = { bytes: 512 * 1024, everyMs: 32_000 };

export interface LeastRead {
  readonly bytes: number;
  readonly everyMs: number;
}

export interface ExportRequest {
  readonly organizationId: string;
  readonly filter: PaymentFilter;
  /** Of the session: its end ends the export. */
  readonly token: string;
}

export class PaymentExports {
  private readonly running = new Map<string, number>();

  constructor(
    private readonly query: Pick<PaymentsQuery, 'list'>,
    private readonly sessions: Pick<SessionWatch, 'add'>,
    private readonly least: LeastRead = leastRead,
  ) {}

  /**
   * @param recorded runs the beginning of the export, once there is room for it
   * @throws RateLimited, StoreUnavailable
   */
  async open(
    { organizationId, filter, token }: ExportRequest,
    recorded: <Result>(begin: () => Promise<Result>) => Promise<Result> = (begin) => begin(),
  ): Promise<Readable> {
    this.begin(organizationId);
    try {
      const until = { ...filter, createdTo: filter.createdTo ?? now() };
      const first = await recorded(() => this.page(organizationId, until));
      const progress = new Progress();
      const lines = this.lines(organizationId, until, first, progress);
      const answer = Readable.from(lines, { objectMode: false, highWaterMark: unreadBytesMax });
      const stopWatching = this.watch(answer, progress);
      answer.once('close', () => {
        stopWatching();
        this.end(organizationId);
      });
      this.sessions.add(answer, token);
      return answer;
    } catch (error) {
      this.end(organizationId);
      throw error;
    }
  }

  private begin(organizationId: string): void {
    const own = this.running.get(organizationId) ?? 0;
    const all = [...this.running.values()].reduce((sum, count) => sum + count, 0);
    const allMax = own === 0 ? perProcessMax : perProcessSecondMax;
    if (own >= perOrganizationMax || all >= allMax)
      throw new RateLimited({ remaining: 0, waitSeconds: fullWaitSeconds });
    this.running.set(organizationId, own + 1);
  }

  private end(organizationId: string): void {
    const left = (this.running.get(organizationId) ?? 0) - 1;
    if (left > 0) this.running.set(organizationId, left);
    else this.running.delete(organizationId);
  }

  /** Breaks the answer off when its client reads too slowly. */
  private watch(answer: Readable, progress: Progress): () => void {
    const { bytes, everyMs } = this.least;
    const timer = setInterval(() => {
      const { takenBytes, ownMs } = progress.sinceLast();
      if (takenBytes < bytes * (1 - ownMs / everyMs)) answer.destroy(new ReadTooSlowly());
    }, everyMs).unref();
    return () => clearInterval(timer);
  }

  private page(
    organizationId: string,
    filter: PaymentFilter,
    after?: Awaited<ReturnType<PaymentsQuery['list']>>['next'],
  ) {
    return this.query.list(organizationId, filter, { limit: pageMax, after: after ?? undefined });
  }

  /** Some lines at a time. */
  private async *lines(
    organizationId: string,
    filter: PaymentFilter,
    first: Awaited<ReturnType<PaymentsQuery['list']>>,
    progress: Progress,
  ): AsyncGenerator<string, void, undefined> {
    yield progress.taken(csvLine(paymentHeader));
    for (let page = first; ; ) {
      for (let line = 0; line < page.items.length; line += pieceLines) {
        const piece = page.items.slice(line, line + pieceLines);
        yield progress.taken(piece.map((item) => csvLine(paymentValues(item))).join(''));
      }
      if (page.next === null) return;
      const { next } = page;
      page = await progress.own(() => this.page(organizationId, filter, next));
    }
  }
}

class ReadTooSlowly extends Error {
  override readonly name = 'ReadTooSlowly';
  constructor() {
    super('the client reads too slowly');
  }
}

/** How much a client has taken, and how long it had to wait for us. */
class Progress {
  private takenBytes = 0;
  private ownMs = 0;
  private ownSinceMs: number | null = null;

  taken(text: string): string {
    this.takenBytes += Buffer.byteLength(text);
    return text;
  }

  async own<Result>(work: () => Promise<Result>): Promise<Result> {
    this.ownSinceMs = performance.now();
    const result = await work();
    this.ownMs += performance.now() - this.ownSinceMs;
    this.ownSinceMs = null;
    return result;
  }

  /** Since the last call. */
  sinceLast(): { readonly takenBytes: number; readonly ownMs: number } {
    const nowMs = performance.now();
    const underWayMs = this.ownSinceMs === null ? 0 : nowMs - this.ownSinceMs;
    const passed = { takenBytes: this.takenBytes, ownMs: this.ownMs + underWayMs };
    this.takenBytes = 0;
    this.ownMs = 0;
    if (this.ownSinceMs !== null) this.ownSinceMs = nowMs;
    return passed;
  }
}
