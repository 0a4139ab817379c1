/** Requests to EventStoreDB and its answers, in the protocol's form. */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { AppendReq, ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { Position, ReadOptions, RecordedEvent } from '../port.js';
import type { ProposedAppend } from '../proposed-append.js';
import { type LogPlace, type Namespace, positionOf } from './namespace.js';
import { recordedOf } from './recorded.js';

/** The options first, then one message per event. `name` is the stream's name with its namespace. */
export function appendMessages(
  name: string,
  { expected, events }: Pick<ProposedAppend, 'expected' | 'events'>,
): AppendReq[] {
  const options = new streams.AppendReq.Options();
  options.setStreamIdentifier(identifierOf(name));
  if (expected === 'noStream') options.setNoStream(new shared.Empty());
  else options.setRevision(String(expected));
  const first = new streams.AppendReq();
  first.setOptions(options);
  return [
    first,
    ...events.map(({ id, type, data, metadata }) => {
      const proposed = new streams.AppendReq.ProposedMessage();
      const uuid = new shared.UUID();
      uuid.setString(id);
      proposed.setId(uuid);
      proposed.getMetadataMap().set('type', type).set('content-type', 'application/json');
      proposed.setData(Buffer.from(data));
      proposed.setCustomMetadata(Buffer.from(metadata));
      const message = new streams.AppendReq();
      message.setProposedMessage(proposed);
      return message;
    }),
  ];
}

export function streamRequest(
  name: string,
  { from, direction = 'forwards', maxCount }: ReadOptions,
): ReadReq {
  const stream = new streams.ReadReq.Options.StreamOptions();
  stream.setStreamIdentifier(identifierOf(name));
  if (from !== undefined) stream.setRevision(String(from));
  else if (direction === 'backwards') stream.setEnd(new shared.Empty());
  else stream.setStart(new shared.Empty());
  const options = new streams.ReadReq.Options();
  options.setStream(stream);
  options.setNoFilter(new shared.Empty());
  options.setCount(String(maxCount ?? Number.MAX_SAFE_INTEGER));
  return request(options, direction);
}

/** `$all`, from a position on or backwards from the end; only matching streams if `prefixes` are given. */
export function logRequest({
  from,
  direction = 'forwards',
  maxCount,
  prefixes,
}: {
  readonly from: LogPlace | 'start' | 'end';
  readonly direction?: 'forwards' | 'backwards';
  readonly maxCount: number;
  readonly prefixes?: readonly string[];
}): ReadReq {
  const options = allOptions(from);
  if (prefixes === undefined) options.setNoFilter(new shared.Empty());
  else options.setFilter(filterOf(prefixes));
  options.setCount(String(maxCount));
  return request(options, direction);
}

/** The server sends a checkpoint at least every `checkpointEvents` events that do not match. */
export function subscriptionRequest(
  from: LogPlace | 'start',
  prefixes: readonly string[],
  checkpointEvents: number,
): ReadReq {
  const options = allOptions(from);
  const filter = filterOf(prefixes);
  filter.clearCount();
  filter.setMax(checkpointEvents);
  options.setFilter(filter);
  options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions());
  return request(options, 'forwards');
}

function allOptions(from: LogPlace | 'start' | 'end'): ReadReq.Options {
  const all = new streams.ReadReq.Options.AllOptions();
  if (from === 'start') all.setStart(new shared.Empty());
  else if (from === 'end') all.setEnd(new shared.Empty());
  else {
    const place = new streams.ReadReq.Options.Position();
    place.setCommitPosition(String(from.commit));
    place.setPreparePosition(String(from.prepare));
    all.setPosition(place);
  }
  const options = new streams.ReadReq.Options();
  options.setAll(all);
  return options;
}

function filterOf(prefixes: readonly string[]): ReadReq.Options.FilterOptions {
  const expression = new streams.ReadReq.Options.FilterOptions.Expression();
  expression.setPrefixList([...prefixes]);
  const filter = new streams.ReadReq.Options.FilterOptions();
  filter.setStreamIdentifier(expression);
  filter.setCount(new shared.Empty());
  filter.setCheckpointintervalmultiplier(1);
  return filter;
}

function request(options: ReadReq.Options, direction: 'forwards' | 'backwards'): ReadReq {
  const uuids = new streams.ReadReq.Options.UUIDOption();
  uuids.setString(new shared.Empty());
  options.setUuidOption(uuids);
  options.setResolveLinks(false);
  options.setReadDirection(direction === 'forwards' ? 0 : 1);
  const read = new streams.ReadReq();
  read.setOptions(options);
  return read;
}

function identifierOf(name: string) {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(name));
  return identifier;
}

/** Null for an answer without an event of ours: the server's own, another system's, a confirmation. */
export function recordedIn(namespace: Namespace, response: ReadResp): RecordedEvent | null {
  const event = response.getEvent()?.getEvent();
  if (event === undefined) return null;
  return recordedOf(namespace, {
    name: Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString(),
    revision: event.getStreamRevision(),
    position: positionOf({
      commit: event.getCommitPosition(),
      prepare: event.getPreparePosition(),
    }),
    id: event.getId()?.getString() ?? '',
    type: event.getMetadataMap().get('type') ?? '',
    data: event.getData_asU8(),
    metadata: event.getCustomMetadata_asU8(),
  });
}

/** The answer's position in the log; null when it holds no event. */
export function positionIn(response: ReadResp): Position | null {
  const event = response.getEvent()?.getEvent() ?? response.getEvent()?.getLink();
  return event === undefined
    ? null
    : positionOf({ commit: event.getCommitPosition(), prepare: event.getPreparePosition() });
}
