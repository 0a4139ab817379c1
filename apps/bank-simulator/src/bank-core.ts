/** What every side of the simulated bank shares: the ledger, the scenarios in force, and who listens. */
import { BankRefused, type BankTerms, BankUnavailable, simulatedBankTerms } from '@pis/bank-rails';
import type pg from 'pg';
import { type Course, courseOf } from './course.js';
import { Ledger } from './ledger.js';
import { ScenarioFile } from './scenario-file.js';
import { scenarioOf, type Transfer } from './scenarios.js';

export interface BankSimulatorOptions {
  /** How long the bank takes at each step, milliseconds; with 0 it answers at once. */
  readonly delayMs: number;
  readonly terms?: BankTerms;
  /** The default scenarios of the sandbox when absent. */
  readonly scenarios?: ScenarioFile;
}

export class BankCore {
  readonly terms: BankTerms;
  readonly ledger: Ledger;
  private readonly scenarios: ScenarioFile;
  private readonly delayMs: number;

  constructor(
    readonly pool: pg.Pool,
    { delayMs, terms = simulatedBankTerms, scenarios = new ScenarioFile() }: BankSimulatorOptions,
  ) {
    this.terms = terms;
    this.delayMs = delayMs;
    this.scenarios = scenarios;
    this.ledger = new Ledger(pool, { terms, delayMs });
  }

  courseOf(transfer: Transfer): Course {
    return courseOf(scenarioOf(this.scenarios.current(), transfer), transfer, this.delayMs);
  }
}

/**
 * Work on the bank's books. The customer asks again unless the bank has refused.
 * @throws BankRefused; BankUnavailable for any other failure
 */
export async function reachable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BankRefused) throw error;
    throw new BankUnavailable('the bank cannot reach its books', { cause: error });
  }
}

/** A timer's limit is 24.8 days. A hint that comes early does no harm. */
const hintMaxMs = 24 * 3_600_000;

/**
 * Tells listeners that the bank may have something new: at once, and when its next report is due. Whoever
 * reads the reports says when the next one is due, so the hints go on after a restart.
 */
export class Hints {
  private readonly listeners = new Set<() => void>();
  private timer: NodeJS.Timeout | undefined;
  /** When the timer fires, on the clock of `performance`. */
  private dueAtMs = Infinity;

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  now(): void {
    for (const listener of this.listeners) listener();
  }

  /** In so many milliseconds at the latest; null for nothing to expect. */
  in(ms: number | null): void {
    if (ms === null) return;
    if (ms <= 0) return this.now();
    const waitMs = Math.min(ms, hintMaxMs);
    const dueAtMs = performance.now() + waitMs;
    if (dueAtMs >= this.dueAtMs) return;
    clearTimeout(this.timer);
    this.dueAtMs = dueAtMs;
    this.timer = setTimeout(() => {
      this.dueAtMs = Infinity;
      this.now();
    }, waitMs);
    this.timer.unref();
  }

  close(): void {
    clearTimeout(this.timer);
    this.dueAtMs = -Infinity;
    this.listeners.clear();
  }
}

/** When the first report of these courses is due, milliseconds; null when none is expected. */
export function firstReportInMs(courses: readonly Course[]): number | null {
  let first: number | null = null;
  for (const { reports } of courses)
    for (const { afterMs } of reports) first = Math.min(first ?? afterMs, afterMs);
  return first;
}
