/**
 * `pis audit events`: who did what, across all records. Reads the whole log, in its order. Personal data is never shown, but
 * with the master key the names of the fields that a change of a contact or originator had.
 */
import {
  personalFields,
  type PersonalPart,
  personalPartsOf,
  sealedData,
  streamNameOf,
} from '@pis/domain';
import {
  beginning,
  type EventMetadata,
  type EventStore,
  type JsonObject,
  type Position,
  type RecordedEvent,
} from '@pis/event-store';
import type { Command } from 'commander';
import { hasKeys, withContext, withLog } from '../context.js';
import { idGiven } from '../operator-action.js';
import { CommandFailed, type OutputOptions, printItems, withJson } from '../output.js';

const pageMax = 2_000;

interface EventsOptions extends OutputOptions {
  readonly actor?: string;
  readonly record?: string;
  readonly type?: string;
  readonly from?: Date;
  readonly to?: Date;
}

/** @param time reads the time of an option */
export function addEventsCommand(audit: Command, time: (given: string) => Date): void {
  withJson(
    audit
      .command('events')
      .description('who did what: events of an actor, about a record, or of a type, in order')
      .option('--actor <actor>', 'such as user:ID, apiKey:ID or user:cli:NAME of an operator')
      .option('--record <id>', 'ID of a payment, originator, contact, user, organization, …')
      .option('--type <type>', 'such as OriginatorUpdated')
      .option('--from <time>', 'only what was recorded from then on, ISO 8601', time)
      .option('--to <time>', 'only what was recorded until then, ISO 8601', time),
  ).action(listEvents);
}

async function listEvents(options: EventsOptions): Promise<void> {
  const { actor, record, type } = options;
  if (actor === undefined && record === undefined && type === undefined)
    throw new CommandFailed('give --actor, --record or --type');
  if (actor !== undefined && !/^[a-zA-Z]+:./.test(actor))
    throw new CommandFailed('--actor is not of the form user:ID: `pis user list` has the IDs');
  const wanted = {
    ...options,
    ...(record === undefined ? {} : { record: idGiven('--record', record) }),
  };
  const tell = (store: EventStore, opens: boolean) =>
    printItems(shownEvents(store, wanted, opens), options);
  if (hasKeys()) await withContext(({ store }) => tell(store, true));
  else await withLog(({ store }) => tell(store, false));
}

async function* shownEvents(store: EventStore, wanted: EventsOptions, opens: boolean) {
  const end = await store.lastPosition();
  for (let after: Position = beginning; after < end; ) {
    const page = await store.readLog({ after, pageMax, leaveSealed: true });
    for (const event of page.events)
      if (event.position <= end && isWanted(event, wanted))
        yield shownEvent(opens ? await withChanges(store, event) : event);
    if (page.position <= after) return;
    after = page.position;
  }
}

function isWanted(event: RecordedEvent, { actor, record, type, from, to }: EventsOptions): boolean {
  const metadata = metadataOf(event);
  const at = Date.parse(metadata.at ?? '');
  return (
    (actor === undefined || metadata.actor === actor) &&
    (type === undefined || event.type === type) &&
    (record === undefined || isAbout(event, record)) &&
    (from === undefined || at >= from.getTime()) &&
    (to === undefined || at <= to.getTime())
  );
}

/** A foreign event may have none. */
function metadataOf({ metadata }: RecordedEvent): Partial<EventMetadata> {
  return (metadata as EventMetadata | null) ?? {};
}

/** Also an action about the record, such as a download of its evidence. */
function isAbout({ streamId, data }: RecordedEvent, record: string): boolean {
  const subject = (data as JsonObject | null)?.['subject'];
  const named = typeof subject === 'object' && subject !== null ? Object.values(subject) : [];
  return streamNameOf(streamId)?.id.startsWith(record) === true || named.includes(record);
}

/** With its personal data, where that tells which fields were changed. */
async function withChanges(store: EventStore, event: RecordedEvent): Promise<RecordedEvent> {
  if (!/^(Contact|Originator)Updated$/.test(event.type)) return event;
  const { streamId, revision } = event;
  const [opened] = await store.readStream(streamId, { from: revision, maxCount: 1 });
  return opened ?? event;
}

function shownEvent(event: RecordedEvent) {
  const { streamId, revision, type } = event;
  const { at = null, actor = null, requestId = null, causationId = null } = metadataOf(event);
  return {
    ...{ at, type, streamId, revision, actor, requestId, causationId },
    data: openData(event),
  };
}

/** Of another sealed text, such as the secret of a webhook: as the keyring makes it. */
const sealedForm = /^v[23]\.\d{1,9}\.[\w-]+\.[\w-]+$/;

/** Null where the data is not what its type says. */
function openData(event: RecordedEvent): JsonObject | null {
  try {
    const parts = personalPartsOf(event);
    const shown = sealedData(event.data, parts, parts.map(fieldNames));
    return JSON.parse(JSON.stringify(shown, withoutSealed)) as JsonObject;
  } catch {
    return null;
  }
}

function fieldNames(part: PersonalPart): string {
  if (typeof part.object['sealed'] === 'string') return '(personal data)';
  if (part.object['erased'] === true) return '(personal data, erased)';
  return `(personal data: ${Object.keys(personalFields(part)).join(', ')})`;
}

function withoutSealed(_name: string, value: unknown): unknown {
  return typeof value === 'string' && sealedForm.test(value) ? '(sealed)' : value;
}
