/**
 * The automated review: looks at a payment before it is claimed. Reviewing a payment again gives the same
 * result and counts it once, so several executors and crashes do no harm.
 */
import type { RailRejection, TransferInstruction } from '@pis/bank-rails';
import { achName } from '@pis/bank-rails/ach';
import { railName } from '@pis/bank-rails/iso20022';
import { type PaymentBlock, type TransferOwner, unreachable } from '@pis/domain';
import type { Admission, DailyTotals } from './daily-totals.js';
import type { Match, NameList } from './name-list.js';
import {
  type Conditions,
  dailyLimitsOf,
  type ReviewRule,
  type ReviewRules,
} from './review-rules.js';

export type ReviewResult =
  | { readonly outcome: 'clear' }
  | { readonly outcome: 'blocked'; readonly block: PaymentBlock }
  | { readonly outcome: 'hold'; readonly rule: string }
  | { readonly outcome: 'rejected'; readonly rejection: RailRejection };

export interface ReviewOptions {
  readonly rules: ReviewRules;
  /** By the names that the rules use. */
  readonly lists: ReadonlyMap<string, NameList>;
  readonly totals: DailyTotals;
}

/** Why the conditions of a rule hold, for staff. */
interface Findings {
  readonly open: string[];
  readonly originator: string[];
  readonly contact: string[];
}

export class Review {
  private readonly ordinary: readonly ReviewRule[];
  private readonly daily: readonly ReviewRule[];

  constructor(private readonly options: ReviewOptions) {
    const isDaily = ({ when }: ReviewRule) => dailyLimitsOf(when).length > 0;
    this.ordinary = options.rules.rules.filter((rule) => !isDaily(rule));
    this.daily = options.rules.rules.filter(isDaily);
  }

  /** Whether no payment can match. */
  get isEmpty(): boolean {
    return this.options.rules.rules.length === 0;
  }

  /** @throws connection errors of PostgreSQL */
  async of(
    instruction: TransferInstruction,
    owner: TransferOwner = 'payment',
  ): Promise<ReviewResult> {
    if (owner === 'collection') return this.ofCollection(instruction);
    for (const rule of this.ordinary) {
      const findings = this.findings(rule.when, instruction);
      if (findings !== null) return resultOf(rule, instruction, findings);
    }
    const applicable = this.daily.flatMap((rule) => {
      const findings = this.findings(rule.when, instruction);
      return findings === null ? [] : [{ rule, findings }];
    });
    if (applicable.length === 0) return { outcome: 'clear' };
    const admissions = applicable.flatMap(({ rule }) => admissionsOf(rule, instruction));
    const exceeded = await this.options.totals.admit(instruction.paymentId, admissions);
    for (const { rule, findings } of applicable) {
      const limits = exceeded.filter((admission) => admission.rule === rule.name);
      if (limits.length === 0) continue;
      for (const limit of limits) findings.open.push(`above the daily limit of the ${limit.party}`);
      return resultOf(rule, instruction, findings);
    }
    return { outcome: 'clear' };
  }

  /**
   * Only lists of names hold for the operator's own debits: nobody may deal with a listed person. The other rules judge
   * what clients do with their accounts, and collections count for no daily limit. The debited originator is the
   * instruction's contact, so its name is compared whichever party a rule is about.
   */
  private ofCollection(instruction: TransferInstruction): ReviewResult {
    for (const rule of this.ordinary) {
      const { nameOn } = rule.when;
      if (nameOn === undefined) continue;
      const when = { ...rule.when, nameOn: { ...nameOn, party: 'contact' as const } };
      const findings = this.findings(when, instruction);
      if (findings !== null) return resultOf(rule, instruction, findings);
    }
    return { outcome: 'clear' };
  }

  /** Null when a condition does not hold. Daily limits are left out. */
  private findings(when: Conditions, instruction: TransferInstruction): Findings | null {
    const { direction, rails, contactAccountEndsWith: ending, routingNumbers, amountAbove } = when;
    const { contactAccount, amountMinor } = instruction;
    const findings: Findings = { open: [], originator: [], contact: [] };
    if (direction !== undefined && direction !== instruction.direction) return null;
    if (rails !== undefined && !rails.includes(instruction.rail)) return null;
    if (ending !== undefined) {
      if (!contactAccount.achAccountNumber.endsWith(ending)) return null;
      findings.contact.push(`the account number ends in ${ending}`);
    }
    if (routingNumbers !== undefined) {
      if (!routingNumbers.includes(contactAccount.achRoutingNumber)) return null;
      findings.contact.push(`the routing number ${contactAccount.achRoutingNumber} is blocked`);
    }
    if (amountAbove !== undefined) {
      if (amountMinor <= amountAbove) return null;
      findings.open.push(`the amount ${amountMinor} is above ${amountAbove}`);
    }
    if (when.nameOn !== undefined && !this.isListed(when.nameOn, instruction, findings))
      return null;
    return findings;
  }

  private isListed(
    { list: listName, party, score }: NonNullable<Conditions['nameOn']>,
    { originatorName, contactName, rail }: TransferInstruction,
    findings: Findings,
  ): boolean {
    const list = this.options.lists.get(listName);
    if (list === undefined) throw new Error(`the list ${listName} was not loaded`);
    // Of a long name a bank gets the beginning, which may be another name. ACH entries do not name the originator.
    const names = {
      originator: [originatorName, railName(originatorName) ?? ''],
      contact: [contactName, rail === 'ACH' ? achName(contactName) : (railName(contactName) ?? '')],
    };
    const sides = party === 'either' ? (['originator', 'contact'] as const) : [party];
    let isListed = false;
    for (const side of sides) {
      const found = bestOf(list, names[side], score);
      if (found === null) continue;
      isListed = true;
      const { entry } = found;
      const similarity = found.score.toFixed(2);
      findings[side].push(
        `the name is ${similarity} like "${entry.name}" (${entry.id} of ${listName})`,
      );
    }
    return isListed;
  }
}

function bestOf(list: NameList, names: readonly string[], scoreMin: number): Match | null {
  const matches = [...new Set(names)].flatMap((name) => list.best(name, scoreMin) ?? []);
  return matches.toSorted((a, b) => b.score - a.score)[0] ?? null;
}

function admissionsOf(
  { name, when }: ReviewRule,
  { originatorId, contactId, amountMinor }: TransferInstruction,
): readonly Admission[] {
  const ids = { originator: originatorId, contact: contactId };
  return dailyLimitsOf(when).map(({ party, totalMax, countMax }) => ({
    rule: name,
    party,
    partyId: ids[party],
    amountMinor,
    totalMax,
    countMax,
  }));
}

function resultOf(
  rule: ReviewRule,
  { originatorId, contactId }: TransferInstruction,
  { open, originator, contact }: Findings,
): ReviewResult {
  switch (rule.then) {
    case 'block':
      return {
        outcome: 'blocked',
        block: {
          rules: [rule.name],
          reasons: open,
          ...(originator.length > 0 && { originator: { id: originatorId, reasons: originator } }),
          ...(contact.length > 0 && { contact: { id: contactId, reasons: contact } }),
        },
      };
    case 'hold':
      return { outcome: 'hold', rule: rule.name };
    case 'reject': {
      const { failureCode, field, message, reason = message } = rule.rejection;
      return {
        outcome: 'rejected',
        rejection: { failureCode, field, message, reason, railCode: null },
      };
    }
    default:
      return unreachable(rule);
  }
}
