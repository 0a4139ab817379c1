/** What every side of the simulated bank shares: the ledger, the scenarios in force, and who listens. */
import { type BankTerms, simulatedBankTerms } from '@pis/bank-rails';
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

/** The longest time for which a hint is scheduled. Readers also look by themselves. */
const hintMaxMs = 60_000;
const hintsMax = 10_000;

/** Tells listeners that the bank may have something new. */
export class Hints {
  private readonly listeners = new Set<() => void>();
  private readonly timers = new Set<NodeJS.Timeout>();

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  now(): void {
    for (const listener of this.listeners) listener();
  }

  /** At each of these times from now, milliseconds. */
  after(times: Iterable<number>): void {
    for (const ms of new Set(times)) {
      if (ms <= 0) this.now();
      if (ms <= 0 || ms > hintMaxMs || this.timers.size >= hintsMax) continue;
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.now();
      }, ms);
      timer.unref();
      this.timers.add(timer);
    }
  }

  close(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    this.listeners.clear();
  }
}
