/** What becomes of a transfer in a scenario: its status at once, and what the bank reports later. */
import { codeOf, type Outcome, type Scenario, type Transfer } from './scenarios.js';

/** 'refused' is never executed; 'pending' is not confirmed yet. */
export type TransferStatus = 'refused' | 'pending' | 'accepted';

export type ReportType = 'confirmed' | 'returned' | 'rejected' | 'corrected';

export interface Report {
  readonly type: ReportType;
  readonly code: string | null;
  /** The corrected data of a correction. */
  readonly corrected: string | null;
  /** After the transfer was taken. */
  readonly afterMs: number;
}

export interface Course {
  readonly scenario: string;
  readonly outcome: Outcome;
  readonly status: TransferStatus;
  /** The reason of a rejection or a return. */
  readonly code: string | null;
  readonly reports: readonly Report[];
  /** How often the bank delivers each of its answers about the transfer. */
  readonly deliveries: number;
}

/**
 * The bank takes `delayMs` for each step unless the scenario has its own time. Without a delay it accepts or
 * refuses at once. With one, the answer is reported after it, and a return once more after it.
 */
export function courseOf(scenario: Scenario, transfer: Transfer, delayMs: number): Course {
  const stepMs = scenario.delayMs ?? delayMs;
  // A prenote is accepted and comes back at once, within the time for which payments wait.
  const laterMs = transfer.amountMinor === 0 ? 0 : stepMs;
  const code = codeOf(scenario, transfer);
  const { name, outcome, duplicate: deliveries } = scenario;
  const at = (afterMs: number, type: ReportType, reason: string | null = null): Report => ({
    ...{ type, code: reason, corrected: null, afterMs },
  });
  const course = (status: TransferStatus, reports: readonly Report[]): Course => ({
    ...{ scenario: name, outcome, status, code, deliveries, reports },
  });
  switch (scenario.outcome) {
    case 'accept':
    case 'return': {
      const reports = stepMs === 0 ? [] : [at(stepMs, 'confirmed')];
      const { correction } = scenario;
      if (correction !== undefined)
        reports.push({
          ...at(stepMs, 'corrected', correction.code),
          corrected: correction.corrected,
        });
      if (scenario.outcome === 'return')
        reports.push(at(stepMs + (scenario.returnAfterMs ?? laterMs), 'returned', code));
      return course(stepMs === 0 ? 'accepted' : 'pending', reports);
    }
    case 'reject':
      return stepMs === 0
        ? course('refused', [])
        : course('pending', [at(stepMs, 'rejected', code)]);
    case 'late_confirmation':
      return course(
        'pending',
        scenario.lateMs === undefined ? [] : [at(scenario.lateMs, 'confirmed')],
      );
    case 'hold':
    case 'no_confirmation':
      return course('pending', []);
  }
}

/** Whether money may move: a delayed rejection never moves any. */
export function executes({ outcome }: Pick<Course, 'outcome'>): boolean {
  return outcome !== 'reject';
}
