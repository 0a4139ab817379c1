/** The review that the configuration asks for. */
import type pg from 'pg';
import type { RailExecutorConfig } from '../rail-executor.js';
import { DailyTotals } from './daily-totals.js';
import { Review } from './review.js';
import { reviewRulesSchema } from './review-rules.js';
import { sandboxRules } from './sandbox-rules.js';

export function configuredReview(
  { PIS_ENVIRONMENT }: Pick<RailExecutorConfig, 'PIS_ENVIRONMENT'>,
  pool: pg.Pool,
): Review {
  const rules = reviewRulesSchema.parse(PIS_ENVIRONMENT === 'sandbox' ? sandboxRules : {});
  return new Review({ rules, lists: new Map(), totals: new DailyTotals(pool) });
}
