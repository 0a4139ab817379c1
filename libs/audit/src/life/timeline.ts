/** The life of a payment as one line for each thing that happened, in order, with the time between them. */
import { titleOfFile } from './life-facts.js';
import { visibleText } from './visible-text.js';
import type { PaymentLife } from './payment-life.js';

export interface TimelineEntry {
  /** ISO 8601 with milliseconds. */
  readonly at: string;
  readonly kind: 'event' | 'file' | 'delivery';
  readonly what: string;
  /** The actor of an event. */
  readonly by: string | null;
  readonly sinceStartMs: number;
  readonly sincePreviousMs: number;
}

export interface Timeline {
  readonly paymentId: string;
  readonly status: PaymentLife['status'];
  /** From the first entry to the last. */
  readonly durationMs: number;
  readonly entries: readonly TimelineEntry[];
}

/**
 * Of the same time, events come first, and deliveries last. Events keep their order in the log: one whose time is before
 * that of the event before it, because clocks differ, comes right after that one.
 */
export function timelineOf({
  paymentId,
  status,
  events,
  files,
  deliveries,
}: PaymentLife): Timeline {
  let latestMs = -Infinity;
  const recorded = events.map(({ at, type, actor }) => {
    latestMs = Math.max(latestMs, Date.parse(at));
    return { placeMs: latestMs, at, kind: 'event', what: type, by: actor } as const;
  });
  const others = [
    ...files.map(
      (file) => ({ at: file.at, kind: 'file', what: titleOfFile(file), by: null }) as const,
    ),
    ...deliveries.flatMap(({ at, finishedAt, state, eventType }) => {
      const delivery = { kind: 'delivery', by: null } as const;
      const made = { ...delivery, at, what: `webhook ${eventType}` };
      const ended = { ...delivery, what: `webhook ${eventType} ${state}` };
      return finishedAt === null ? [made] : [made, { ...ended, at: finishedAt }];
    }),
  ].map((other) => ({ placeMs: Date.parse(other.at), ...other }));
  const happened = [...recorded, ...others].toSorted((a, b) => a.placeMs - b.placeMs);
  const firstMs = happened[0]?.placeMs ?? 0;
  let previousMs = firstMs;
  const entries = happened.map(({ placeMs, ...entry }) => {
    const sincePreviousMs = placeMs - previousMs;
    previousMs = placeMs;
    return { ...entry, sinceStartMs: placeMs - firstMs, sincePreviousMs };
  });
  return { paymentId, status, durationMs: previousMs - firstMs, entries };
}

export function textOfTimeline({ paymentId, status, durationMs, entries }: Timeline): string {
  const gaps = entries.map(({ sincePreviousMs }) => `+${durationText(sincePreviousMs)}`);
  const width = Math.max(0, ...gaps.map(({ length }) => length));
  return [
    `payment ${paymentId}: ${status ?? 'not created yet'}, ${durationText(durationMs)}`,
    ...entries.map(({ at, what, by }, index) =>
      visibleText([at, (gaps[index] ?? '').padStart(width), what, by ?? ''].join('  ').trimEnd()),
    ),
  ].join('\n');
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** The two largest units that are not zero, for example `1 d 2 h`; below a second in milliseconds. */
export function durationText(durationMs: number): string {
  const parts: string[] = [];
  let rest = Math.max(0, durationMs);
  for (const [name, unitMs] of units) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.length === 0 ? `${rest} ms` : parts.slice(0, 2).join(' ');
}
