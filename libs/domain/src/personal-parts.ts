/**
 * Takes the personal data of an event out of it and puts it back, as personal-data.ts says. Pure: the event
 * store's sealed store does the sealing and opening in between.
 */
import { type Category, streamNameOf } from './categories.js';
import { type EventPrivacy, personalData, type PersonalOwner } from './personal-data.js';

type JsonObject = { readonly [key: string]: unknown };

/** An event as far as it matters here. */
interface EventData {
  readonly streamId: string;
  readonly type: string;
  readonly data: JsonObject;
}

/** An object in an event's data that has personal fields, and whose they are. */
export interface PersonalPart {
  readonly owner: PersonalOwner;
  readonly object: JsonObject;
  readonly place: Place;
}

interface Place {
  /** The field of the data that holds the object; null for the data itself. */
  readonly field: string | null;
  readonly owner: (object: JsonObject, streamId: string) => PersonalOwner;
  readonly open: ReadonlySet<string>;
  readonly personal: ReadonlySet<string>;
  /** In the place of the personal fields after erasure. */
  readonly erased: JsonObject;
}

/** Whether any event of a category has personal data. */
export function hasPersonalData(category: string): boolean {
  return Object.hasOwn(personalData, category) && personalData[category as Category] !== 'open';
}

/** Whose record a stream is; null for a stream that is no party's record, for example a payment. */
export function ownerOfStream(streamId: string): PersonalOwner | null {
  const name = streamNameOf(streamId);
  switch (name?.category) {
    case 'contact':
    case 'originator':
    case 'user':
      return `${name.category}:${name.id}`;
    default:
      return null;
  }
}

/** How the personal data of an event is stored, by its type and schema version; null without any. */
export function storedForm(
  streamId: string,
  type: string,
  schemaVersion: unknown,
): 'plain' | 'sealed' | null {
  const places = placesIn(streamId, type);
  if (places === null || typeof schemaVersion !== 'number') return null;
  return schemaVersion > places.plainUntil ? 'sealed' : 'plain';
}

/**
 * One part for each party of an event, in its plain shape or as it is stored; none for an event without
 * personal data. A party may be missing: an unsaved counterparty has not answered yet.
 * @throws Error when a party has no usable id
 */
export function personalPartsOf({ streamId, type, data }: EventData): readonly PersonalPart[] {
  const found = placesIn(streamId, type);
  if (found === null) return [];
  const parts: PersonalPart[] = [];
  for (const place of found.places) {
    const object = place.field === null ? data : data?.[place.field];
    if (typeof object !== 'object' || object === null) continue;
    const inside = object as JsonObject;
    parts.push({ place, object: inside, owner: place.owner(inside, streamId) });
  }
  return parts;
}

/**
 * The personal fields of a part in its plain shape. A field that is not classified counts as personal: it is
 * sealed, and it does not come back.
 */
export function personalFields({ object, place }: PersonalPart): JsonObject {
  const personal: Record<string, unknown> = {};
  for (const field of Object.keys(object))
    if (!place.open.has(field)) personal[field] = object[field];
  return personal;
}

/** The sealed text of a part as it is stored. @throws Error when it has none */
export function sealedText({ owner, object: { sealed } }: PersonalPart): string {
  if (typeof sealed !== 'string') throw new Error(`the personal data of ${owner} is not sealed`);
  return sealed;
}

/** The data as it is stored: each part's personal fields are replaced by its sealed text. */
export function sealedData(
  data: JsonObject,
  parts: readonly PersonalPart[],
  texts: readonly string[],
): JsonObject {
  return replaced(data, parts, (part, index) => ({ ...openFields(part), sealed: texts[index] }));
}

/**
 * The plain shape of stored data: each part's sealed text is replaced by its personal fields. They are null
 * for a party that was erased: all its personal fields are null then, and `erased` is true. A sealed text
 * gives personal fields only: it changes no open field, such as an ID.
 */
export function openedData(
  data: JsonObject,
  parts: readonly PersonalPart[],
  personal: readonly (JsonObject | null)[],
): JsonObject {
  return replaced(data, parts, (part, index) => {
    const fields = personal[index] ?? null;
    return {
      ...openFields(part),
      ...(fields === null ? part.place.erased : fieldsOf(fields, part.place.personal)),
    };
  });
}

/** The plain shape of data that is stored in plain text although some of its parties were erased. */
export function withoutErased(
  data: JsonObject,
  parts: readonly PersonalPart[],
  isErased: (owner: PersonalOwner) => boolean,
): JsonObject {
  return replaced(data, parts, (part) =>
    isErased(part.owner) ? { ...openFields(part), ...part.place.erased } : part.object,
  );
}

function openFields({ object, place }: PersonalPart): JsonObject {
  return fieldsOf(object, place.open);
}

function fieldsOf(object: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.has(name)));
}

function replaced(
  data: JsonObject,
  parts: readonly PersonalPart[],
  replacement: (part: PersonalPart, index: number) => JsonObject,
): JsonObject {
  const result: Record<string, unknown> = { ...data };
  for (const [index, part] of parts.entries()) {
    const { field } = part.place;
    const object = replacement(part, index);
    if (field === null) return object;
    result[field] = object;
  }
  return result;
}

interface Places {
  /** Of the names of the category's streams. */
  readonly prefix: string;
  readonly type: string;
  /** Schema versions up to this one were stored in plain text. */
  readonly plainUntil: number;
  readonly places: readonly Place[];
}

type AnyPrivacy = EventPrivacy<{ readonly [field: string]: never }>;
interface AnyObject {
  readonly owner: (object: never, streamId: string) => PersonalOwner;
  readonly fields: Readonly<Record<string, 'open' | 'personal'>>;
}

/** By event type, of the categories that have it: a collection has the events of a payment. */
const placesOfType: ReadonlyMap<string, readonly Places[]> = Map.groupBy(
  Object.entries(personalData).flatMap(([category, events]) =>
    events === 'open' ? [] : placesOfEvents(category, events),
  ),
  ({ type }) => type,
);

function placesOfEvents(
  category: string,
  events: Readonly<Record<string, unknown>>,
): readonly Places[] {
  return Object.entries(events as Readonly<Record<string, AnyPrivacy>>).flatMap(
    ([type, privacy]) => {
      const { plainUntil = 0 } = privacy;
      const places = placesOf(privacy);
      return places.length === 0 ? [] : [{ prefix: `${category}-`, type, plainUntil, places }];
    },
  );
}

function placesOf(privacy: AnyPrivacy): Place[] {
  if ('whole' in privacy) return [placeOf(null, privacy.whole)];
  return Object.entries(privacy.parts).flatMap(([field, part]) =>
    part === 'open' ? [] : [placeOf(field, part)],
  );
}

function placeOf(field: string | null, { owner, fields }: AnyObject): Place {
  const kinds = Object.entries(fields);
  const named = (wanted: 'open' | 'personal') =>
    kinds.flatMap(([name, kind]) => (kind === wanted ? [name] : []));
  const nulls = Object.fromEntries(named('personal').map((name) => [name, null]));
  return {
    field,
    owner: owner as Place['owner'],
    open: new Set(named('open')),
    personal: new Set(named('personal')),
    erased: { ...nulls, erased: true },
  };
}

/** Null for an event without personal data, also for one of a stream that is not ours. */
function placesIn(streamId: string, type: string): Places | null {
  const places = placesOfType.get(type)?.find(({ prefix }) => streamId.startsWith(prefix));
  return places ?? null;
}
