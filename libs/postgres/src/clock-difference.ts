import type pg from 'pg';

/**
 * How far this process's clock is ahead of PostgreSQL's, in milliseconds; negative when it is behind. PostgreSQL read its clock at some
 * moment between the question and the answer. The least difference that explains the answer counts, so a slow answer is no difference.
 * @param own milliseconds since the epoch
 * @throws connection errors of PostgreSQL
 */
export async function clockDifferenceMs(
  pool: pg.Pool,
  own: () => number = Date.now,
): Promise<number> {
  const [askedMs, steadyMs] = [own(), performance.now()];
  const { rows } = await pool.query<{ at_ms: number }>({
    name: 'clock-read',
    text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at_ms',
  });
  const tookMs = performance.now() - steadyMs;
  if (rows[0] === undefined) throw new Error('the clock returned no row');
  const aheadMs = askedMs - rows[0].at_ms;
  if (aheadMs > 0) return aheadMs;
  return Math.min(0, aheadMs + tookMs);
}

/** How far the clocks may differ for something that gets a time which nobody can correct afterwards. */
export interface ClockLimit {
  readonly maxMs: number;
  /** What is not done beyond it, and where that is explained: the end of an error's message. */
  readonly consequence: string;
}

const forBanks: ClockLimit = {
  // Time zones that were mixed up make an hour or more. NTP keeps clocks within milliseconds.
  maxMs: 3_600_000,
  consequence:
    'so it sends nothing new to a bank: see PisClockHoldsPayments in docs/runbooks/log.md',
};

/** Nothing was done. A person must set a clock right. */
export class ClocksDiffer extends Error {
  override readonly name = 'ClocksDiffer';
}

/**
 * @param limit that of messages and files for banks when absent
 * @throws ClocksDiffer when this process's clock and PostgreSQL's differ by more than the limit; connection errors of PostgreSQL
 */
export async function requireAgreeingClocks(
  pool: pg.Pool,
  own?: () => number,
  { maxMs, consequence }: ClockLimit = forBanks,
): Promise<void> {
  const differenceMs = await clockDifferenceMs(pool, own);
  if (Math.abs(differenceMs) <= maxMs) return;
  const seconds = Math.round(Math.abs(differenceMs) / 1_000);
  const side = differenceMs > 0 ? 'ahead of' : 'behind';
  throw new ClocksDiffer(
    `the clock of this process is ${seconds} s ${side} that of PostgreSQL, ${consequence}`,
  );
}

/**
 * A clock that was set right, or wrong, is noticed within this time: so is that of a virtual machine that was paused, and which itself
 * sees no jump. While there is nothing to do, nobody asks.
 */
const freshForMs = 1_000;

export interface AgreeingClocksOptions {
  /** See requireAgreeingClocks. */
  readonly limit?: ClockLimit;
  /** Milliseconds since the epoch; this process's clock when absent. */
  readonly own?: (() => number) | undefined;
  /** A clock that is never set. */
  readonly steadyMs?: () => number;
}

/** requireAgreeingClocks for whoever asks often. */
export class AgreeingClocks {
  private reading: Promise<void> | null = null;
  private readAtMs = -Infinity;

  constructor(
    private readonly pool: pg.Pool,
    private readonly options: AgreeingClocksOptions = {},
  ) {}

  /** @throws ClocksDiffer; connection errors of PostgreSQL */
  require(): Promise<void> {
    const { limit, own, steadyMs = () => performance.now() } = this.options;
    const nowMs = steadyMs();
    if (this.reading !== null && nowMs - this.readAtMs < freshForMs) return this.reading;
    const reading = requireAgreeingClocks(this.pool, own, limit);
    this.reading = reading;
    this.readAtMs = nowMs;
    // Only clocks that agree are remembered: a failure is asked about again.
    reading.catch(() => {
      if (this.reading === reading) this.reading = null;
    });
    return reading;
  }
}
