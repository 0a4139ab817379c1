/**
 * A store whose events hold personal data only in sealed form (domain, personal-data.ts). What it returns
 * is opened: `data` has the plain shape, and `storedData` is what is stored.
 *
 * What always holds:
 * - a page is opened with one call for each sliceMax texts, and other work runs between the calls;
 * - nothing is skipped: while keys cannot be reached, reads fail with StoreUnavailable and subscriptions
 *   wait;
 * - an event that cannot be opened for another reason is returned with `unopened`: also one whose master key
 *   this process lacks. Its stream is held back like that of any other unreadable event, and no other
 *   stream is;
 * - events without sealed data are returned as they are, not copied.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  openedData,
  personalFields,
  type PersonalPart,
  personalPartsOf,
  sealedData,
  sealedText,
  storedForm,
  withoutErased,
} from '@pis/domain';
import { backoffMs, pause } from '@pis/postgres';
import {
  type EventStore,
  type JsonObject,
  type LogPage,
  type RecordedEvent,
  type SealedText,
  type Sealing,
  StoreUnavailable,
  type SubscribeOptions,
} from './port.js';

const openAgainInitialMs = 50;
const openAgainMaxMs = 2_000;
/** Texts opened in one go: about 10 ms. */
const sliceMax = 100;
/** Of the sealed text of a personal part, as the keyring makes it; `v2.` until texts had a place. */
const textPrefixes = ['v2.', 'v3.'] as const;

/** The same store, with personal data sealed at rest. Goes below sharedLog(), which shares what was opened. */
export function sealedStore(store: EventStore, sealing: Sealing): EventStore {
  const opened = (
    events: readonly RecordedEvent[],
    options?: { readonly leaveSealed?: boolean },
  ) => (options?.leaveSealed === true ? events.map(leftSealed) : openEvents(sealing, events));
  return {
    sealing,
    append: store.append.bind(store),
    async readStream(streamId, options) {
      const events = await store.readStream(streamId, options);
      const known = options?.leaveSealedUpTo;
      if (known === undefined) return opened(events, options);
      const isKnown = ({ revision }: RecordedEvent) => revision <= known;
      const unknown = events.filter((event) => !isKnown(event));
      const rest = (await opened(unknown, options)).values();
      return events.map((event) =>
        isKnown(event) ? leftSealed(event) : (rest.next().value ?? event),
      );
    },
    async readStreams(streamIds) {
      const streams = await store.readStreams(streamIds);
      const events = await openEvents(sealing, streams.flat());
      let next = 0;
      return streams.map(({ length }) => events.slice(next, (next += length)));
    },
    async readLog(options) {
      const page = await store.readLog(options);
      return { ...page, events: await opened(page.events, options) };
    },
    lastPosition: store.lastPosition.bind(store),
    async lastEvent(upTo) {
      const event = await store.lastEvent(upTo);
      return event && leftSealed(event);
    },
    subscribe: (options) => openedPages(store, sealing, options),
    ping: store.ping.bind(store),
    close: store.close.bind(store),
  };
}

/** The data of an event as it is stored. Sealing again makes another text: seal once, and keep the result. */
export async function sealData(
  { sealing }: Pick<EventStore, 'sealing'>,
  event: Pick<RecordedEvent, 'streamId' | 'revision' | 'type' | 'data'>,
): Promise<JsonObject> {
  const parts = personalPartsOf(event);
  if (parts.length === 0) return event.data;
  if (sealing === null)
    throw new TypeError(`${event.type} has personal data, and this store does not seal it`);
  const texts = await Promise.all(
    parts.map((part) =>
      sealing.seal(part.owner, JSON.stringify(personalFields(part)), placeOf(event)),
    ),
  );
  return sealedData(event.data, parts, texts);
}

/** A sealed text opens only in its own event: nobody can move it to another payment, or bring an older one back. */
function placeOf({ streamId, revision }: Pick<RecordedEvent, 'streamId' | 'revision'>): string {
  return `${streamId} ${revision}`;
}

async function* openedPages(
  store: EventStore,
  sealing: Sealing,
  options: SubscribeOptions,
): AsyncGenerator<LogPage, void, undefined> {
  for await (const page of store.subscribe(options)) {
    const events = await untilOpened(sealing, page.events, options);
    if (events === null) return;
    yield { ...page, events };
  }
}

/** Null when the subscription has ended meanwhile. */
async function untilOpened(
  sealing: Sealing,
  events: readonly RecordedEvent[],
  { signal, onConnection }: Pick<SubscribeOptions, 'signal' | 'onConnection'>,
): Promise<readonly RecordedEvent[] | null> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      const opened = await openEvents(sealing, events);
      if (failures > 0) onConnection?.(null);
      return opened;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      onConnection?.(error);
      await pause(backoffMs(failures, openAgainInitialMs, openAgainMaxMs), signal);
    }
  }
  return null;
}

/** A stored event with the sealed text of each of its parts. */
interface Sealed {
  readonly event: RecordedEvent;
  readonly parts: readonly PersonalPart[];
  readonly texts: readonly SealedText[];
}

/** @throws StoreUnavailable */
async function openEvents(
  sealing: Sealing,
  events: readonly RecordedEvent[],
): Promise<readonly RecordedEvent[]> {
  const forms = new Set(events.map(formOf));
  const current = forms.has('plain') ? await withoutErasedParties(sealing, events) : events;
  if (!forms.has('sealed')) return current;
  const found = current.map((event) => (formOf(event) === 'sealed' ? partsIn(event) : event));
  const sealed = found.filter((each) => 'parts' in each);
  const opened = (await openTogether(sealing, sealed)).values();
  return found.map((each) => ('parts' in each ? (opened.next().value ?? each.event) : each));
}

function formOf({ streamId, type, metadata }: RecordedEvent): ReturnType<typeof storedForm> {
  // A foreign event may have no metadata.
  const written: unknown = metadata?.schemaVersion;
  return storedForm(streamId, type, written);
}

/** Plain events of older releases stay in the log. Nobody who reads them sees a party that was erased. */
async function withoutErasedParties(
  sealing: Sealing,
  events: readonly RecordedEvent[],
): Promise<readonly RecordedEvent[]> {
  const partsOf = new Map<RecordedEvent, readonly PersonalPart[]>();
  for (const event of events) if (formOf(event) === 'plain') partsOf.set(event, plainParts(event));
  const owners = new Set([...partsOf.values()].flat().map(({ owner }) => owner));
  const erased = await sealing.destroyedOf([...owners]);
  if (erased.size === 0) return events;
  return events.map((event) => {
    const parts = partsOf.get(event) ?? [];
    if (!parts.some(({ owner }) => erased.has(owner))) return event;
    const data = withoutErased(event.data, parts, (owner) => erased.has(owner));
    return { ...event, data, storedData: event.data };
  });
}

/** None of a malformed event: its aggregate refuses it. */
function plainParts(event: RecordedEvent): readonly PersonalPart[] {
  try {
    return personalPartsOf(event);
  } catch {
    return [];
  }
}

function partsIn(event: RecordedEvent): Sealed | RecordedEvent {
  try {
    const parts = personalPartsOf(event);
    const place = placeOf(event);
    const texts = parts.map((part) => ({
      owner: part.owner,
      sealed: ours(sealedText(part)),
      place,
    }));
    return { event, parts, texts };
  } catch (error) {
    return unopened(event, error);
  }
}

/** Personal parts were never sealed in another form. @throws Error for a text of another form */
function ours(text: string): string {
  if (!textPrefixes.some((prefix) => text.startsWith(prefix)))
    throw new Error('its sealed text is in a form that is not ours');
  return text;
}

/** @throws StoreUnavailable */
async function openTogether(
  sealing: Sealing,
  sealed: readonly Sealed[],
): Promise<readonly RecordedEvent[]> {
  const opened = await openTexts(
    sealing,
    sealed.flatMap(({ texts }) => texts),
  );
  let next = 0;
  return sealed.map(({ event, parts, texts }) => {
    const inside = opened.slice(next, (next += texts.length));
    const personal: (JsonObject | null)[] = [];
    for (const part of inside) {
      if (part instanceof Error) return unopened(event, part);
      personal.push(part);
    }
    return { ...event, data: openedData(event.data, parts, personal), storedData: event.data };
  });
}

/** What a text holds: null for an erased party, and the reason when it cannot be opened. */
type Opened = JsonObject | null | Error;

/** In order. @throws StoreUnavailable */
async function openTexts(
  sealing: Sealing,
  texts: readonly SealedText[],
): Promise<readonly Opened[]> {
  const opened: Opened[] = [];
  for (let from = 0; from < texts.length; from += sliceMax) {
    if (from > 0) await nextTurn();
    opened.push(...(await openSlice(sealing, texts.slice(from, from + sliceMax))));
  }
  return opened;
}

/** One call for all of them. If it fails for one text, each text is opened alone. @throws StoreUnavailable */
async function openSlice(
  sealing: Sealing,
  texts: readonly SealedText[],
): Promise<readonly Opened[]> {
  try {
    const opened = await sealing.openAll(texts);
    // A missing answer must not count as an erased party.
    if (opened.length !== texts.length)
      throw new TypeError(`${opened.length} answers for ${texts.length} sealed texts`);
    return opened.map(objectIn);
  } catch (error) {
    if (!(error instanceof Error) || !isTextsFault(error)) throw error;
    if (texts.length === 1) return [error];
    const alone: Opened[] = [];
    for (const text of texts) alone.push(...(await openSlice(sealing, [text])));
    return alone;
  }
}

/** What was sealed is not what a part must hold. */
class NoPart extends Error {}

/** Null for an erased party. @throws NoPart */
function objectIn(text: string | null): JsonObject | null {
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new NoPart('its sealed text is not JSON', { cause });
  }
  if (typeof value !== 'object' || value === null) throw new NoPart('its sealed text is no object');
  return value as JsonObject;
}

/** Names of the keyring's errors that concern one text. Every other text may still open. */
const faultsOfTexts: ReadonlySet<string> = new Set(['CannotOpen', 'MasterKeyMissing']);

function isTextsFault(error: Error): boolean {
  return error instanceof NoPart || faultsOfTexts.has(error.name);
}

/** As it is stored, and marked, so that no aggregate takes it for an event in its plain shape. */
function unopened(event: RecordedEvent, error: unknown): RecordedEvent {
  const reason = error instanceof Error ? error.message : String(error);
  return { ...event, unopened: `its personal data cannot be opened: ${reason}` };
}

function leftSealed(event: RecordedEvent): RecordedEvent {
  return formOf(event) === 'sealed'
    ? { ...event, unopened: 'its personal data was left sealed' }
    : event;
}
