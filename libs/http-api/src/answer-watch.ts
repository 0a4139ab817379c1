/**
 * Ends long answers (downloads, live updates) whose reader may not have them any more: the session ended, or the key was
 * revoked. Also those of a reader who has stopped reading. One round of checks for all of them, so that many open
 * answers cost as little as one.
 */
import { AsyncResource } from 'node:async_hooks';
import type { Readable } from 'node:stream';

/** What may not be read any more is noticed within 5 s, with time for the check itself. */
export const answerCheckMs = 3_000;

export interface AnswerWatchOptions<Reader> {
  /** Those of the readers, once each, who may still read. */
  readonly stillValid: (readers: readonly Reader[]) => Promise<ReadonlySet<Reader>>;
  readonly onFailure: (error: unknown) => void;
}

export class AnswerWatch<Reader> {
  private readonly open = new Map<Readable, Reader>();
  private timer: NodeJS.Timeout | undefined;
  private isChecking = false;
  /** Of no request: the time limit of the one that began the round would end it for all. */
  private readonly round = AsyncResource.bind(() => void this.check());

  constructor(private readonly options: AnswerWatchOptions<Reader>) {}

  /** Until the answer closes. */
  add(answer: Readable, reader: Reader): void {
    this.open.set(answer, reader);
    answer.once('close', () => {
      this.open.delete(answer);
      if (this.open.size === 0) this.stop();
    });
    this.timer ??= setInterval(this.round, answerCheckMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** If it is not known who may still read, the answers end: clients ask again. */
  private async check(): Promise<void> {
    if (this.isChecking) return;
    this.isChecking = true;
    const checked = [...this.open];
    try {
      const readers = [...new Set(checked.map(([, reader]) => reader))];
      const valid = await this.options.stillValid(readers);
      for (const [answer, reader] of checked)
        if (!valid.has(reader)) answer.destroy(new ReaderRefused());
    } catch (error) {
      this.options.onFailure(error);
      for (const [answer] of checked) answer.destroy(new ReaderRefused());
    } finally {
      this.isChecking = false;
    }
  }
}

export class ReaderRefused extends Error {
  override readonly name = 'ReaderRefused';
  constructor() {
    super('the session has ended, or the key was revoked or has expired');
  }
}
