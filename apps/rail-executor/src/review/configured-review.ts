/** The review that the configuration asks for: PIS_REVIEW_RULES_FILE, or the sandbox's own rules. */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { checkedYaml } from '@pis/bank-rails/checked-yaml';
import { ConfigurationError } from '@pis/service-kit';
import type pg from 'pg';
import type { RailExecutorConfig } from '../rail-executor.js';
import { DailyTotals } from './daily-totals.js';
import { NameList, namesIn } from './name-list.js';
import { Review } from './review.js';
import { type ReviewRules, reviewRulesSchema } from './review-rules.js';
import { sandboxRules } from './sandbox-rules.js';

type ReviewConfig = Pick<RailExecutorConfig, 'PIS_ENVIRONMENT' | 'PIS_REVIEW_RULES_FILE'>;

const variable = 'PIS_REVIEW_RULES_FILE';
const fileMaxBytes = 32 << 20;

/** @throws ConfigurationError that names the file and each problem in it */
export function configuredReview(config: ReviewConfig, pool: pg.Pool): Review {
  const { rules, lists } = rulesOf(config);
  return new Review({ rules, lists, totals: new DailyTotals(pool) });
}

function rulesOf({ PIS_ENVIRONMENT, PIS_REVIEW_RULES_FILE: file }: ReviewConfig): {
  readonly rules: ReviewRules;
  readonly lists: ReadonlyMap<string, NameList>;
} {
  if (file === undefined) {
    const rules = reviewRulesSchema.parse(PIS_ENVIRONMENT === 'sandbox' ? sandboxRules : {});
    return { rules, lists: new Map() };
  }
  const checked = checkedYaml(textOf(file), reviewRulesSchema);
  if ('problems' in checked) throw misconfigured(file, ...checked.problems);
  const folder = path.dirname(file);
  const lists = Object.entries(checked.value.lists).map(
    ([name, list]) => [name, listIn(path.resolve(folder, list.file))] as const,
  );
  return { rules: checked.value, lists: new Map(lists) };
}

function listIn(file: string): NameList {
  const text = textOf(file);
  try {
    return new NameList(namesIn(text));
  } catch (error) {
    throw misconfigured(file, error instanceof Error ? error.message : String(error));
  }
}

function textOf(file: string): string {
  try {
    if (statSync(file).size > fileMaxBytes) throw new Error(`has more than ${fileMaxBytes} bytes`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw misconfigured(file, error instanceof Error ? error.message : String(error));
  }
}

function misconfigured(file: string, ...problems: readonly string[]): ConfigurationError {
  return new ConfigurationError(problems.map((problem) => `${variable}: ${file}: ${problem}`));
}
