/** Fee schedules as the form has them: texts of its fields, and what the server gets. */
import type { FeeScheduleView } from '@pis/dashboard/api';
import { amountMinorOf } from '../format.js';

/** More are set from a file. */
export const formRowsMax = 50;

export interface FeeRow {
  /** For React alone. */
  readonly key: number;
  readonly originatorId: string;
  readonly rail: string;
  readonly direction: string;
  readonly from: string;
  readonly percent: string;
  readonly min: string;
  readonly cap: string;
  readonly flat: string;
  readonly returned: string;
}

export type FeeField = Exclude<keyof FeeRow, 'key'>;

/** The names of the fields where the server reports problems. */
export const fieldNames = {
  originatorId: 'originatorId',
  rail: 'rail',
  direction: 'direction',
  from: 'from',
  percent: 'discountFeeBasisPoints',
  min: 'discountFeeMin',
  cap: 'discountFeeCap',
  flat: 'flatFee',
  returned: 'returnFee',
} as const satisfies Record<FeeField, keyof FeeScheduleView>;

let nextKey = 0;

export function emptyRow(): FeeRow {
  nextKey += 1;
  return {
    ...{ key: nextKey, originatorId: '', rail: '', direction: '', from: '' },
    ...{ percent: '0', min: '', cap: '', flat: '0.00', returned: '0.00' },
  };
}

export function rowOf(schedule: FeeScheduleView): FeeRow {
  const { discountFeeMin, discountFeeCap, from } = schedule;
  return {
    ...emptyRow(),
    originatorId: schedule.originatorId ?? '',
    rail: schedule.rail ?? '',
    direction: schedule.direction ?? '',
    from: from?.replace(/T00:00:00\.000Z$/, '') ?? '',
    percent: percentText(schedule.discountFeeBasisPoints),
    min: discountFeeMin === undefined ? '' : dollarsText(discountFeeMin),
    cap: discountFeeCap === undefined ? '' : dollarsText(discountFeeCap),
    flat: dollarsText(schedule.flatFee),
    returned: dollarsText(schedule.returnFee),
  };
}

export type FeeProblems = Readonly<Partial<Record<FeeField, string>>>;

export interface ReadRow {
  readonly schedule: Readonly<Partial<Record<keyof FeeScheduleView, string | number>>>;
  /** What cannot be read as a number. The server checks everything else. */
  readonly problems: FeeProblems;
}

const enterAmount = 'Enter an amount in dollars, such as 1,234.56.';

export function readRow(row: FeeRow): ReadRow {
  const problems: Partial<Record<FeeField, string>> = {};
  const given = (field: FeeField) => row[field].trim();
  const amount = (field: 'min' | 'cap' | 'flat' | 'returned'): number | undefined => {
    const cents = centsOf(given(field));
    if (cents === undefined) problems[field] = enterAmount;
    return cents;
  };
  const discountFeeBasisPoints = basisPointsOf(given('percent'));
  if (discountFeeBasisPoints === undefined)
    problems.percent = 'Enter a percentage with two decimals at most, such as 0.25.';
  const [flatFee, returnFee] = [amount('flat'), amount('returned')];
  const discountFeeMin = given('min') === '' ? undefined : amount('min');
  const discountFeeCap = given('cap') === '' ? undefined : amount('cap');
  const texts = (['originatorId', 'rail', 'direction', 'from'] as const).flatMap((field) =>
    given(field) === '' ? [] : [[field, given(field)] as const],
  );
  return {
    schedule: {
      ...Object.fromEntries(texts),
      ...(discountFeeBasisPoints !== undefined && { discountFeeBasisPoints }),
      ...(discountFeeMin !== undefined && { discountFeeMin }),
      ...(discountFeeCap !== undefined && { discountFeeCap }),
      ...(flatFee !== undefined && { flatFee }),
      ...(returnFee !== undefined && { returnFee }),
    },
    problems,
  };
}

const pointsPerPercent = 100;
const centsPerDollar = 100;

/** `0.25` of 25. */
export function percentText(basisPoints: number): string {
  return String(basisPoints / pointsPerPercent);
}

function dollarsText(cents: number): string {
  return (cents / centsPerDollar).toFixed(2);
}

function basisPointsOf(text: string): number | undefined {
  const match = /^(\d{1,3})(?:\.(\d{1,2}))?\s*%?$/.exec(text);
  if (match === null) return undefined;
  const [, whole = '', part = ''] = match;
  return Number(whole) * pointsPerPercent + Number(part.padEnd(2, '0'));
}

/** Also of zero. Undefined for what is no amount. */
function centsOf(text: string): number | undefined {
  if (/^\$?\s*0+(\.0{1,2})?$/.test(text)) return 0;
  return amountMinorOf(text) ?? undefined;
}

export type FeeState = 'in force' | 'to come' | 'replaced';

/** What has become of each schedule: a later one for the same payments replaces it when its time comes. */
export function statesOf(schedules: readonly FeeScheduleView[], nowMs: number): FeeState[] {
  const startOf = ({ from }: FeeScheduleView) =>
    from === undefined ? -Infinity : Date.parse(from);
  const keyOf = ({ originatorId, rail, direction }: FeeScheduleView) =>
    JSON.stringify([originatorId ?? null, rail ?? null, direction ?? null]);
  const latest = new Map<string, number>();
  for (const schedule of schedules)
    if (startOf(schedule) <= nowMs)
      latest.set(
        keyOf(schedule),
        Math.max(startOf(schedule), latest.get(keyOf(schedule)) ?? -Infinity),
      );
  return schedules.map((schedule) => {
    if (startOf(schedule) > nowMs) return 'to come';
    return startOf(schedule) === latest.get(keyOf(schedule)) ? 'in force' : 'replaced';
  });
}

/** The schedules of a file of `pis fees set`. @throws Error with what is wrong, for the reader */
export function schedulesIn(text: string): readonly unknown[] {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error('This file is not JSON.');
  }
  const schedules = (file as { readonly schedules?: unknown } | null)?.schedules;
  if (!Array.isArray(schedules))
    throw new Error('This file has no list of schedules: {"schedules":[…]}.');
  return schedules;
}
