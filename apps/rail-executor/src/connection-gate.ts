/**
 * Holds back what is new while a connection is paused: see connection-pauses.ts of bank-rails. Every submission asks. The
 * answer may be a second old, and a failover is quicker: the note of the submission has the last word (noteSql).
 */
import { BankUnavailable } from '@pis/bank-rails';
import { type ConnectionPause, pauseText, readPauses } from '@pis/bank-rails/connections';
import type pg from 'pg';

/** Nothing was sent. */
export class ConnectionPaused extends BankUnavailable {
  override readonly name = 'ConnectionPaused';
}

type Pauses = ReadonlyMap<string, ConnectionPause>;

const freshForMs = 1_000;

export class ConnectionGate {
  private reading: Promise<Pauses> | null = null;
  private readAtMs = -Infinity;

  constructor(
    private readonly pool: pg.Pool,
    private readonly connections: readonly string[],
  ) {}

  /**
   * @param maxAgeMs of the answer
   * @throws ConnectionPaused; connection errors of PostgreSQL
   */
  async pass(connection: string, maxAgeMs = freshForMs): Promise<void> {
    const pause = (await this.pauses(maxAgeMs)).get(connection);
    if (pause !== undefined) throw new ConnectionPaused(pauseText(connection, pause));
  }

  /**
   * For what would end because nothing shows that it was sent. It is asked for rarely, so the answer is always new.
   * @throws ConnectionPaused while what was sent over a connection may be lost; connection errors of PostgreSQL
   */
  async requireRecords(): Promise<void> {
    for (const [connection, pause] of await this.pauses(0))
      if (pause.isRestored) throw new ConnectionPaused(pauseText(connection, pause));
  }

  /** Those who ask at the same time share one answer. Its age counts from the question. */
  private pauses(maxAgeMs: number): Promise<Pauses> {
    const nowMs = performance.now();
    if (this.reading !== null && nowMs - this.readAtMs < maxAgeMs) return this.reading;
    const reading = readPauses(this.pool, this.connections);
    this.reading = reading;
    this.readAtMs = nowMs;
    // A failure is not an answer.
    reading.catch(() => {
      if (this.reading === reading) this.reading = null;
    });
    return reading;
  }
}
