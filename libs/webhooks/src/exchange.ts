/**
 * One request and its answer over an undici connection. An answer of an untrusted receiver is read only as
 * far as it is useful. It is not decompressed, redirects are not followed, and at most 1 KiB is kept.
 */
import type { Dispatcher } from 'undici';

/** The most bytes read of a response's body. A longer one closes the connection. */
export const responseReadMaxBytes = 64 * 1024;
/** The bytes kept for the record of the attempt. */
export const responseKeptBytes = 1024;
/** Status line and headers. */
export const responseHeadersMaxBytes = 16 * 1024;
/**
 * All bytes of an answer of any kind, including interim answers, an endless status line, chunk extensions
 * and trailers, which no other limit counts.
 */
export const responseWireMaxBytes = responseReadMaxBytes + 2 * responseHeadersMaxBytes;
const retryAfterMaxLength = 64;

export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge';
}

/** It was to be sent after its time. */
export class TooLate extends Error {
  override readonly name = 'TooLate';
}

export interface Answer {
  readonly status: number;
  /** The header as received, or null. */
  readonly retryAfter: string | null;
  readonly excerpt: string;
  /** `performance.now()` when the status arrived. */
  readonly answeredAt: number;
  /** Whether the answer is complete, so that the connection can carry another one. */
  readonly complete: boolean;
}

export class Exchange implements Dispatcher.DispatchHandler {
  readonly answer: Promise<Answer>;
  /** Whether anything of an answer arrived. */
  sawAnswer = false;
  private readonly settle: PromiseWithResolvers<Answer>;
  private controller: Dispatcher.DispatchController | null = null;
  private isSettled = false;
  private status: number | null = null;
  private retryAfter: string | null = null;
  private answeredAt = 0;
  private readonly kept: Buffer[] = [];
  private keptBytes = 0;
  private readBytes = 0;
  private bodyTimer: NodeJS.Timeout | undefined;

  /**
   * @param bodyTimeoutMs how long the body may take once the status is known
   * @param mayBegin asked last before it is sent: after a freeze of the process, no timer has run yet
   */
  constructor(
    private readonly bodyTimeoutMs: number,
    private readonly mayBegin: () => boolean,
  ) {
    this.settle = Promise.withResolvers<Answer>();
    this.answer = this.settle.promise;
  }

  /** Ends it now, with the partial answer or with the error. */
  cut(error: Error): void {
    if (this.isSettled) return;
    if (this.status === null) this.fail(error);
    else this.finish(false);
    this.controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (!this.mayBegin()) this.fail(new TooLate('its time was over before it was sent'));
    if (this.isSettled) controller.abort(new Error('canceled before it was sent'));
    else this.controller = controller;
  }

  onResponseStarted(): void {
    this.sawAnswer = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return;
    this.status = status;
    this.answeredAt = performance.now();
    const retryAfter = headers['retry-after'];
    if (typeof retryAfter === 'string') this.retryAfter = retryAfter.slice(0, retryAfterMaxLength);
    const late = () => this.cut(new Error('the response took too long'));
    this.bodyTimer = setTimeout(late, this.bodyTimeoutMs);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.readBytes += chunk.length;
    if (this.keptBytes < responseKeptBytes) {
      // A copy: the chunk's buffer may be far larger than what is kept of it.
      const part = Buffer.from(chunk.subarray(0, responseKeptBytes - this.keptBytes));
      this.kept.push(part);
      this.keptBytes += part.length;
    }
    if (this.readBytes >= responseReadMaxBytes) this.cut(new ResponseTooLarge('body'));
  }

  onResponseEnd(): void {
    this.finish(true);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    // The status has arrived: later errors do not change the outcome.
    if (this.status === null) this.fail(error);
    else this.finish(false);
  }

  private fail(error: Error): void {
    if (this.isSettled) return;
    this.end();
    this.settle.reject(error);
  }

  private finish(complete: boolean): void {
    if (this.isSettled || this.status === null) return;
    this.end();
    const { status, retryAfter, answeredAt } = this;
    // A character that the limit cut in two is left out, as is a byte order mark.
    const excerpt = new TextDecoder().decode(Buffer.concat(this.kept), { stream: !complete });
    this.settle.resolve({ status, retryAfter, excerpt, answeredAt, complete });
  }

  private end(): void {
    this.isSettled = true;
    clearTimeout(this.bodyTimer);
  }
}
