/**
 * Holds back what is new while this process's clock and PostgreSQL's differ by more than an hour. Whoever claims a payment
 * dates it, at its bank and in the log, and nobody can correct that later. Other executors take the payments meanwhile.
 * If PostgreSQL's clock is the wrong one, all payments wait: waiting can be made good, a wrong date cannot.
 */
import { BankUnavailable } from '@pis/bank-rails';
import { ClocksDiffer, requireAgreeingClocks } from '@pis/postgres';
import type pg from 'pg';

/**
 * A clock that was set right, or wrong, is noticed within this time: so is that of a virtual machine that was paused, and which itself
 * sees no jump. While there is nothing to claim, nobody asks.
 */
const freshForMs = 1_000;

export class ClockGate {
  private reading: Promise<void> | null = null;
  private readAtMs = -Infinity;

  /**
   * @param own milliseconds since the epoch; this process's clock when absent
   * @param steadyMs a clock that is never set
   */
  constructor(
    private readonly pool: pg.Pool,
    private readonly own?: () => number,
    private readonly steadyMs: () => number = () => performance.now(),
  ) {}

  /** @throws BankUnavailable while the clocks differ; connection errors of PostgreSQL */
  async pass(): Promise<void> {
    try {
      await this.read();
    } catch (error) {
      if (!(error instanceof ClocksDiffer)) throw error;
      throw new BankUnavailable(error.message);
    }
  }

  private read(): Promise<void> {
    const nowMs = this.steadyMs();
    if (this.reading !== null && nowMs - this.readAtMs < freshForMs) return this.reading;
    const reading = requireAgreeingClocks(this.pool, this.own);
    this.reading = reading;
    this.readAtMs = nowMs;
    // Only clocks that agree are remembered: a failure is asked about again.
    reading.catch(() => {
      if (this.reading === reading) this.reading = null;
    });
    return reading;
  }
}
