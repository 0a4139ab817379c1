/**
 * Live updates as server-sent events (HTML Standard, section 9.2). Each open dashboard has one answer that stays
 * open. Bounded per user, per organization and per process. A client that does not read is dropped: it connects again and
 * refreshes. The answers end with their session, and at once when the process ends.
 */
import { Readable } from 'node:stream';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { ApiError, RateLimited } from '@pis/http-api';
import type { LiveChange, LiveFeed, LiveListener } from './live-feed.js';
import type { SessionWatch } from './session-watch.js';

export const liveLimits = {
  perUserMax: 10,
  /** The rest is for other organizations. */
  perOrganizationMax: 250,
  /** From this number on, an organization gets only a few: those of some large organizations cut off no other. */
  sharedMax: 750,
  fewPerOrganizationMax: 10,
  perProcessMax: 1_000,
  /** Not read by the client yet. */
  unreadBytesMax: 64 * 1024,
  // Proxies and the server itself close a connection that is silent for 60 s.
  heartbeatMs: 20_000,
};
/** More at once are one request to refresh. */
const changesMax = 50;
/** Chosen at random between them: after a restart, a thousand browsers must not come back at the same moment. */
const reconnectMs = { min: 1_000, max: 4_000 };
const fullWaitSeconds = 30;

export interface LiveSubscriber {
  readonly organizationId: string;
  readonly userId: string;
  readonly token: string;
}

export class LiveStreams implements BeforeApplicationShutdown {
  private readonly answers = new Map<
    LiveAnswer,
    Pick<LiveSubscriber, 'userId' | 'organizationId'>
  >();
  private heartbeat: NodeJS.Timeout | undefined;
  private isEnding = false;

  constructor(
    private readonly feed: LiveFeed,
    private readonly sessions: SessionWatch,
  ) {}

  /** @throws ApiError RATE_LIMITED, SERVICE_UNAVAILABLE */
  open({ organizationId, userId, token }: LiveSubscriber): Readable {
    const { perUserMax, perOrganizationMax, perProcessMax } = liveLimits;
    const { sharedMax, fewPerOrganizationMax, unreadBytesMax, heartbeatMs } = liveLimits;
    if (this.isEnding || this.answers.size >= perProcessMax)
      throw new ApiError('SERVICE_UNAVAILABLE', 'no more live updates can be opened');
    const own = [...this.answers.values()].filter((one) => one.organizationId === organizationId);
    const ofUser = own.filter((one) => one.userId === userId).length;
    const ownMax = this.answers.size < sharedMax ? perOrganizationMax : fewPerOrganizationMax;
    if (ofUser >= perUserMax || own.length >= ownMax)
      throw new RateLimited({ remaining: 0, waitSeconds: fullWaitSeconds });
    const answer = new LiveAnswer(unreadBytesMax);
    this.answers.set(answer, { userId, organizationId });
    const unlisten = this.feed.listen(organizationId, answer);
    answer.once('close', () => {
      unlisten();
      this.answers.delete(answer);
      if (this.answers.size > 0) return;
      clearInterval(this.heartbeat);
      this.heartbeat = undefined;
    });
    this.sessions.add(answer, token);
    this.heartbeat ??= setInterval(() => this.beat(), heartbeatMs).unref();
    return answer;
  }

  get size(): number {
    return this.answers.size;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isEnding = true;
    clearInterval(this.heartbeat);
    this.sessions.stop();
    for (const answer of this.answers.keys()) answer.end();
    await this.feed.stop();
  }

  private beat(): void {
    for (const answer of this.answers.keys()) answer.write(': still here\n\n');
  }
}

class LiveAnswer extends Readable implements LiveListener {
  constructor(private readonly unreadBytesMax: number) {
    super({ highWaterMark: unreadBytesMax });
    // Also a first sign of life, before the reader of the log has begun.
    const { min, max } = reconnectMs;
    this.write(`retry: ${min + Math.floor(Math.random() * (max - min))}\n\n`);
    // Fastify reports an answer that breaks off. The end of a session is no error of ours.
    this.on('error', () => undefined);
  }

  override _read(): void {
    // Events come when they happen.
  }

  changed(changes: readonly LiveChange[]): void {
    if (changes.length > changesMax) this.refresh();
    else this.write(`event: payments\ndata: ${JSON.stringify(changes)}\n\n`);
  }

  approvalsChanged(): void {
    this.write('event: approvals\ndata: {}\n\n');
  }

  refresh(): void {
    this.write('event: refresh\ndata: {}\n\n');
  }

  end(): void {
    if (!this.destroyed) this.push(null);
  }

  write(text: string): void {
    if (this.destroyed || this.readableEnded) return;
    if (this.readableLength > this.unreadBytesMax)
      this.destroy(new Error('the client is too slow'));
    else this.push(text);
  }
}
