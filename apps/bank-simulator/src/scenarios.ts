/**
 * The scenarios of the simulated bank: which transfer has which outcome. They are declared in YAML
 * (docs/sandbox.md), and the first one that matches decides. Without a match the transfer is accepted.
 */
import { changeCodes } from '@pis/bank-rails/ach';
import { checkedYaml } from '@pis/bank-rails/checked-yaml';
import { type Direction, directions, type PaymentRail, paymentRails } from '@pis/domain';
import { z } from 'zod';

/** What a scenario can match. Names and full numbers are used here and are not stored. */
export interface Transfer {
  readonly rail: PaymentRail;
  readonly direction: Direction;
  /** Minor units; 0 in a prenote. */
  readonly amountMinor: number;
  /** Of the contact. */
  readonly accountNumber: string;
  readonly routingNumber: string;
  readonly name: string;
}

const scenariosMax = 1_000;
const delayMaxMs = 24 * 3_600_000;
const answersMax = 5;

const milliseconds = z.int().min(0).max(delayMaxMs);
const amount = z.int().min(0);
const digits = z.string().regex(/^\d{1,17}$/, 'expected 1 to 17 digits in quotes');
const oneOrSeveral = <Value extends z.ZodType>(value: Value) =>
  z.union([value.transform((one) => [one]), z.array(value).min(1)]);

const endingRange = z
  .strictObject({ from: digits, to: digits })
  .refine(({ from, to }) => from.length === to.length && from <= to, {
    message: 'expected two endings of one length, the smaller one first',
  });

const match = z.strictObject({
  /** The last digits of the contact's account number. */
  accountEndsWith: z.union([digits, z.array(digits).min(1), endingRange]).optional(),
  amountFrom: amount.optional(),
  amountTo: amount.optional(),
  /** Part of the contact's name, in any case. */
  name: z.string().trim().min(1).max(200).optional(),
  routingNumber: oneOrSeveral(z.string().regex(/^\d{9}$/, 'expected nine digits in quotes')),
  rail: oneOrSeveral(z.enum(paymentRails)),
  direction: z.enum(directions).optional(),
});

const reasonCode = z
  .string()
  .regex(
    /^[A-Z0-9#]{2,10}$/,
    'expected a code of capital letters and digits, for example R03 or AC04',
  );

const common = {
  name: z.string().trim().min(1).max(100),
  match: match.partial().default({}),
  delayMs: milliseconds.optional(),
  duplicate: z.int().min(1).max(answersMax).default(1),
};
const correction = z.strictObject({
  code: z.enum(Object.keys(changeCodes)),
  corrected: z.string().min(1).max(29),
});
const executed = { ...common, correction: correction.optional() };

const scenario = z.discriminatedUnion('outcome', [
  /** Executed and confirmed. */
  z.strictObject({ ...executed, outcome: z.literal('accept') }),
  /** Executed, confirmed, and returned later. */
  z.strictObject({
    ...executed,
    outcome: z.literal('return'),
    code: reasonCode.optional(),
    returnAfterMs: milliseconds.optional(),
  }),
  /** Definitely not executed. */
  z.strictObject({ ...common, outcome: z.literal('reject'), code: reasonCode.optional() }),
  /** Taken, and the bank names no time for it. */
  z.strictObject({ ...common, outcome: z.literal('hold') }),
  /** Taken, and never confirmed, also when asked. */
  z.strictObject({ ...common, outcome: z.literal('no_confirmation') }),
  /** Taken, and confirmed after a status request or after `lateMs`. */
  z.strictObject({
    ...common,
    outcome: z.literal('late_confirmation'),
    lateMs: milliseconds.optional(),
  }),
]);

const scenarioFile = z.strictObject({ scenarios: z.array(scenario).max(scenariosMax) });

export type Scenario = z.output<typeof scenario>;
export type Outcome = Scenario['outcome'];
type Match = Scenario['match'];

export class BadScenarios extends Error {
  override readonly name = 'BadScenarios';
}

/** @throws BadScenarios with the line and the path of each problem */
export function parseScenarios(text: string): readonly Scenario[] {
  const checked = checkedYaml(text, scenarioFile);
  if ('problems' in checked) throw new BadScenarios(checked.problems.join('; '));
  return checked.value.scenarios;
}

/** What happens to a transfer that no scenario matches. */
const accepted: Scenario = { name: 'accepted', match: {}, duplicate: 1, outcome: 'accept' };

/** A prenote has no amount. It needs a scenario that names this amount, so that others are about payments alone. */
export function scenarioOf(scenarios: readonly Scenario[], transfer: Transfer): Scenario {
  const isPrenote = transfer.amountMinor === 0;
  const found = scenarios.find(
    ({ match: wanted }) => (!isPrenote || wanted.amountTo === 0) && matches(wanted, transfer),
  );
  return found ?? accepted;
}

/** Every field that is given must match. */
function matches(wanted: Match, transfer: Transfer): boolean {
  const { amountFrom = 0, amountTo = Infinity, name, routingNumber, rail, direction } = wanted;
  return (
    endsWith(wanted.accountEndsWith, transfer.accountNumber) &&
    transfer.amountMinor >= amountFrom &&
    transfer.amountMinor <= amountTo &&
    (name === undefined || transfer.name.toLowerCase().includes(name.toLowerCase())) &&
    (routingNumber === undefined || routingNumber.includes(transfer.routingNumber)) &&
    (rail === undefined || rail.includes(transfer.rail)) &&
    (direction === undefined || direction === transfer.direction)
  );
}

function endsWith(wanted: Match['accountEndsWith'], account: string): boolean {
  if (wanted === undefined) return true;
  if (typeof wanted === 'string') return account.endsWith(wanted);
  if (Array.isArray(wanted)) return wanted.some((ending) => account.endsWith(ending));
  const ending = account.slice(-wanted.from.length);
  return ending.length === wanted.from.length && ending >= wanted.from && ending <= wanted.to;
}

/** The scenario's code; each `#` is replaced by a digit from the end of the account number. */
export function codeOf(scenario: Scenario, { accountNumber }: Transfer): string | null {
  const code =
    scenario.outcome === 'return' || scenario.outcome === 'reject' ? scenario.code : null;
  if (code === null || code === undefined) return null;
  const places = code.split('#').length - 1;
  const digitsOfAccount = accountNumber.slice(-places);
  let next = 0;
  return code.replaceAll('#', () => digitsOfAccount.charAt(next++) || '0');
}
