/**
 * Ends long answers (live updates, downloads) of sessions that ended: signed out, expired, or of a user who was
 * disabled. One round of checks for all of them, so that many open dashboards cost as little as one.
 */
import type { Readable } from 'node:stream';
import type { SignIn } from '@pis/users';

/** A session that ended is noticed within 5 s, with time for the check itself. */
export const sessionCheckMs = 3_000;

export class SessionWatch {
  private readonly open = new Map<Readable, string>();
  private timer: NodeJS.Timeout | undefined;
  private isChecking = false;

  constructor(
    private readonly signIn: Pick<SignIn, 'stillSignedIn'>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Until the answer closes. */
  add(answer: Readable, token: string): void {
    this.open.set(answer, token);
    answer.once('close', () => {
      this.open.delete(answer);
      if (this.open.size === 0) this.stop();
    });
    this.timer ??= setInterval(() => void this.check(), sessionCheckMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** If it is not known whether the sessions go on, their answers end: clients ask again, and sign in if they must. */
  private async check(): Promise<void> {
    if (this.isChecking) return;
    this.isChecking = true;
    const checked = [...this.open];
    try {
      const valid = await this.signIn.stillSignedIn([
        ...new Set(checked.map(([, token]) => token)),
      ]);
      for (const [answer, token] of checked)
        if (!valid.has(token)) answer.destroy(new SessionEnded());
    } catch (error) {
      this.onFailure(error);
      for (const [answer] of checked) answer.destroy(new SessionEnded());
    } finally {
      this.isChecking = false;
    }
  }
}

export class SessionEnded extends Error {
  override readonly name = 'SessionEnded';
  constructor() {
    super('the session has ended');
  }
}
