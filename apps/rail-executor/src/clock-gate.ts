/**
 * Holds back what is new while this process's clock and PostgreSQL's differ by more than an hour. Whoever claims a payment
 * dates it, at its bank and in the log, and nobody can correct that later. Other executors take the payments meanwhile.
 * If PostgreSQL's clock is the wrong one, all payments wait: waiting can be made good, a wrong date cannot.
 */
import { BankUnavailable } from '@pis/bank-rails';
import { AgreeingClocks, ClocksDiffer } from '@pis/postgres';
import type pg from 'pg';

export class ClockGate {
  private readonly clocks: AgreeingClocks;

  /**
   * @param own milliseconds since the epoch; this process's clock when absent
   * @param steadyMs a clock that is never set
   */
  constructor(pool: pg.Pool, own?: () => number, steadyMs?: () => number) {
    this.clocks = new AgreeingClocks(pool, { own, ...(steadyMs !== undefined && { steadyMs }) });
  }

  /** @throws BankUnavailable while the clocks differ; connection errors of PostgreSQL */
  async pass(): Promise<void> {
    try {
      await this.clocks.require();
    } catch (error) {
      if (!(error instanceof ClocksDiffer)) throw error;
      throw new BankUnavailable(error.message);
    }
  }
}
