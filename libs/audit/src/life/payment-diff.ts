/**
 * What changed in a payment or collection between two places of its stream, field by field. Computed from the events as
 * they are stored: no key is needed, and no personal data is shown, also of events of releases that did not seal it.
 */
import { collection, type DomainEvent, payment, type Payment, streamIdOf } from '@pis/domain';
import { visibleText } from './visible-text.js';
import { domainEventOf, eventsAsOf, type EventStore, type RecordedEvent } from '@pis/event-store';

/** A revision, or the last event that was recorded until a time. */
export type LifePoint = { readonly revision: number } | { readonly at: Date };

export interface DiffPlace {
  /** Null before the first event. */
  readonly revision: number | null;
  readonly at: string | null;
}

export interface PaymentDiff {
  readonly paymentId: string;
  readonly from: DiffPlace;
  readonly to: DiffPlace;
  /** By field. A field that is absent on one side is null there. */
  readonly differences: readonly FieldDifference[];
}

export interface FieldDifference {
  /** Dotted, for example `railDecision.expectedSettlementAt`. */
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** Shown in the place of a value that tells who somebody is. */
const personalValue = '(personal data)';

const aggregates = { payment, collection } as const;
/** Objects with personal data, and their fields that tell nothing of a person. */
const partyFields = ['originator', 'contact', 'link'];
const openPartyFields = new Set([
  'id',
  'entityType',
  'erased',
  'counterpartyId',
  'createdBy',
  'expiresAt',
]);

/** Null when there is no such payment or collection. @throws UnreadableEvent */
export async function paymentDiff(
  store: Pick<EventStore, 'readStream'>,
  paymentId: string,
  from: LifePoint,
  to: LifePoint,
): Promise<PaymentDiff | null> {
  for (const category of ['payment', 'collection'] as const) {
    const events = await store.readStream(streamIdOf(category, paymentId), { leaveSealed: true });
    if (events.length === 0) continue;
    const [before, after] = [from, to].map((point) => eventsUntil(events, point));
    return {
      paymentId,
      from: placeOf(before),
      to: placeOf(after),
      differences: differencesOf(fieldsAfter(category, before), fieldsAfter(category, after)),
    };
  }
  return null;
}

function eventsUntil(events: readonly RecordedEvent[], point: LifePoint): readonly RecordedEvent[] {
  if ('at' in point) return eventsAsOf(events, point.at.toISOString());
  return events.filter(({ revision }) => revision <= point.revision);
}

function placeOf(events: readonly RecordedEvent[] = []): DiffPlace {
  const last = events.at(-1);
  return { revision: last?.revision ?? null, at: last?.metadata.at ?? null };
}

function fieldsAfter(
  category: keyof typeof aggregates,
  events: readonly RecordedEvent[] = [],
): ReadonlyMap<string, unknown> {
  const aggregate = aggregates[category];
  const state = events.reduce<Payment | null>((before, { unopened: _sealed, ...event }) => {
    const known: DomainEvent = domainEventOf<DomainEvent>(aggregate, event);
    return aggregate.evolve(before, known as never);
  }, aggregate.initial);
  const fields = new Map<string, unknown>();
  if (state !== null) collect(fields, '', state);
  return fields;
}

function collect(fields: Map<string, unknown>, path: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) {
    fields.set(path, isPersonal(path) && value !== null ? personalValue : value);
    return;
  }
  for (const [name, inner] of Object.entries(value))
    collect(fields, path === '' ? name : `${path}.${name}`, inner);
}

function isPersonal(path: string): boolean {
  const [first = '', second = ''] = path.split('.');
  return partyFields.includes(first) && !openPartyFields.has(second);
}

function differencesOf(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): readonly FieldDifference[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((field) => {
    const [from = null, to = null] = [before.get(field), after.get(field)];
    return from === to ? [] : [{ field, from, to }];
  });
}

export function textOfDiff({ paymentId, from, to, differences }: PaymentDiff): string {
  const lines = differences.map(
    (one) => `${one.field}: ${valueText(one.from)} → ${valueText(one.to)}`,
  );
  const nothing = lines.length === 0 ? ['nothing differs'] : lines;
  return [`payment ${paymentId}: ${placeText(from)} → ${placeText(to)}`, ...nothing].join('\n');
}

export function placeText({ revision, at }: DiffPlace): string {
  return revision === null ? 'before its first event' : `revision ${revision}, ${at}`;
}

export function valueText(value: unknown): string {
  return visibleText(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null'));
}
