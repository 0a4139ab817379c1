/** How figures read. */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const units = [
  { ms: day, name: 'd' },
  { ms: hour, name: 'h' },
  { ms: minute, name: 'min' },
  { ms: second, name: 's' },
] as const;

/** `1.5 d`, `12 min`, `230 ms`: two digits where the first one alone would say too little. */
export function durationText(durationMs: number): string {
  const unit = units.find(({ ms }) => durationMs >= ms);
  if (unit === undefined) return `${Math.round(durationMs)} ms`;
  const value = durationMs / unit.ms;
  return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} ${unit.name}`;
}

/** Where a logarithmic scale of durations has its marks, in milliseconds. */
const marks = [1, 10, 100, second, 10 * second, minute, 10 * minute, hour, 6 * hour, day, 7 * day];

/** The marks around these durations, so that all of them lie between the first one and the last one. */
export function durationTicks(durationsMs: readonly number[]): readonly number[] {
  const least = Math.max(1, Math.min(...durationsMs));
  const most = Math.max(1, ...durationsMs);
  const first = marks.findLastIndex((mark) => mark <= least);
  const last = marks.findIndex((mark) => mark > most);
  const ticks = marks.slice(Math.max(0, first), last === -1 ? undefined : last + 1);
  return last === -1 ? [...ticks, most] : ticks;
}

/** `99.4 %`. It never rounds up to all. */
export function rateText(rate: number): string {
  const perMille = rate >= 1 ? 1_000 : Math.min(999, Math.round(rate * 1_000));
  return `${perMille / 10} %`;
}

export function countText(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

const dayMs = day;

export interface DayVolume {
  readonly day: string;
  /** In cents. */
  readonly INBOUND: number;
  readonly OUTBOUND: number;
  readonly payments: number;
}

/** Every day of the period, also those without payments. */
export function daysOf(
  from: string,
  to: string,
  volume: readonly {
    readonly day: string;
    readonly direction: string;
    readonly payments: number;
    readonly amount: number;
  }[],
): readonly DayVolume[] {
  const byDay = Map.groupBy(volume, (one) => one.day);
  const count = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
  return Array.from({ length: count }, (_, index) => {
    const name = new Date(Date.parse(from) + index * dayMs).toISOString().slice(0, 10);
    const rows = byDay.get(name) ?? [];
    const amountOf = (direction: string) =>
      rows.filter((row) => row.direction === direction).reduce((sum, row) => sum + row.amount, 0);
    return {
      day: name,
      INBOUND: amountOf('INBOUND'),
      OUTBOUND: amountOf('OUTBOUND'),
      payments: rows.reduce((sum, row) => sum + row.payments, 0),
    };
  });
}
