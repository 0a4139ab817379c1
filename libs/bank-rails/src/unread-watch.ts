/** Notes whether what a bank reports can be read, and since when it cannot. */
import { BankRefused, BankUnavailable, type Unread } from './bank-connection.js';

export class UnreadWatch {
  unread: Unread | null = null;

  /** @throws what `read` throws. Only the bank's own failures count */
  async watched<Result>(read: () => Promise<Result>): Promise<Result> {
    try {
      const result = await read();
      this.unread = null;
      return result;
    } catch (error) {
      const isAway = error instanceof BankUnavailable || error instanceof BankRefused;
      const sinceMs = this.unread?.sinceMs ?? performance.now();
      this.unread = isAway ? { reason: error, sinceMs } : null;
      throw error;
    }
  }
}
