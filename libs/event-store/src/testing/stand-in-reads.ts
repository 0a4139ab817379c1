/** Streams.Read of the EventStoreDB stand-in: reads and subscriptions, of a stream and of `$all`. */
import { randomUUID } from 'node:crypto';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream, ServiceError } from '@grpc/grpc-js';
import { noPlace, unauthenticated, unavailable } from './stand-in-faults.js';
import { type LoggedEvent, type StandInLog, comparePlaces } from './stand-in-log.js';
import { nameOf, readEvent } from './stand-in-messages.js';
import type { StandInNode } from './stand-in-node.js';

type ReadCall = ServerWritableStream<ReadReq, ReadResp>;

interface Source {
  /** The events there are now. */
  readonly events: readonly LoggedEvent[];
  /** Negative before the place the request names, 0 at it; null when it names none (start). */
  readonly compareToStart: ((event: LoggedEvent) => number) | null;
  readonly fromEnd: boolean;
  /** Backwards, `$all` is read from before a place, and a stream from its revision on. */
  readonly isAll: boolean;
  readonly matches: (event: LoggedEvent) => boolean;
  /** A checkpoint every so many events of a filtered subscription; 0 for none. */
  readonly checkpointEvery: number;
}

const backwards = 1;

export function read(node: StandInNode) {
  return (call: ReadCall): void => {
    const options = call.request.getOptions();
    const streamId = options?.hasStream()
      ? nameOf(options.getStream()?.getStreamIdentifier())
      : null;
    const name = streamId ?? '$all';
    const fault = node.faults.read?.(name) ?? null;
    if (fault === 'hang') return;
    const { log } = node.cluster;
    const refusal =
      node.refusal(call.metadata) ?? node.access?.mayRead(call.metadata, name, log) ?? null;
    if (fault === 'unauthenticated') fail(call, unauthenticated());
    else if (fault === 'unavailable' || options === undefined) fail(call, unavailable());
    else if (refusal !== null) fail(call, refusal);
    else if (!isAtPlace(options, log)) fail(call, noPlace(node.faults.noPlace));
    else if (options.hasSubscription()) subscribe(call, node, sourceOf(node, options, streamId));
    else {
      answer(call, node, options, streamId);
      node.answered += 1;
      call.end();
    }
  };
}

/** Whether a read of `$all` begins at a place of the log. */
function isAtPlace(options: ReadReq.Options, log: StandInLog): boolean {
  const position = options.getAll()?.getPosition();
  return position === undefined || log.hasPlace(placeIn(position));
}

function placeIn(position: ReadReq.Options.Position) {
  return {
    commit: BigInt(position.getCommitPosition()),
    prepare: BigInt(position.getPreparePosition()),
  };
}

function fail(call: ReadCall, error: ServiceError): void {
  call.emit('error', error);
}

function answer(
  call: ReadCall,
  node: StandInNode,
  options: ReadReq.Options,
  streamId: string | null,
): void {
  const source = sourceOf(node, options, streamId);
  if (streamId !== null && source.events.length === 0) {
    const notFound = new streams.ReadResp.StreamNotFound();
    notFound.setStreamIdentifier(options.getStream()?.getStreamIdentifier());
    const response = new streams.ReadResp();
    response.setStreamNotFound(notFound);
    call.write(response);
    return;
  }
  const back = Number(options.getReadDirection()) === backwards;
  for (const event of select(source, back, Number(options.getCount())))
    call.write(readEvent(event));
}

function select(source: Source, back: boolean, max: number): LoggedEvent[] {
  const { compareToStart, fromEnd, isAll } = source;
  const events = source.events.filter(source.matches);
  if (fromEnd) return back ? events.toReversed().slice(0, max) : [];
  const selected = events.filter((event) => {
    const place = compareToStart?.(event) ?? 1;
    return back ? compareToStart !== null && (isAll ? place < 0 : place <= 0) : place >= 0;
  });
  return (back ? selected.reverse() : selected).slice(0, max);
}

function sourceOf(node: StandInNode, options: ReadReq.Options, streamId: string | null): Source {
  const { log } = node.cluster;
  const stream = options.getStream();
  if (streamId !== null && stream !== undefined) {
    const revision = Number(stream.getRevision());
    return {
      events: (log.stream(streamId) ?? []).filter((event) => node.has(event)),
      compareToStart: stream.hasRevision() ? (event) => event.revision - revision : null,
      fromEnd: stream.hasEnd(),
      isAll: false,
      matches: (event) => event.streamId === streamId,
      checkpointEvery: 0,
    };
  }
  const all = options.getAll();
  const position = all?.getPosition();
  const start = position && placeIn(position);
  return {
    events: log.events.filter((event) => node.has(event)),
    compareToStart: start === undefined ? null : (event) => comparePlaces(event, start),
    fromEnd: all?.hasEnd() ?? false,
    isAll: true,
    ...filterOf(options.getFilter()),
  };
}

function filterOf(
  filter: ReadReq.Options.FilterOptions | undefined,
): Pick<Source, 'matches' | 'checkpointEvery'> {
  const expression = filter?.getStreamIdentifier();
  if (filter === undefined || expression === undefined)
    return { matches: () => true, checkpointEvery: 0 };
  const regex = expression.getRegex() === '' ? null : new RegExp(expression.getRegex());
  const prefixes = expression.getPrefixList();
  return {
    matches: ({ streamId }) =>
      regex ? regex.test(streamId) : prefixes.some((prefix) => streamId.startsWith(prefix)),
    checkpointEvery:
      (filter.hasMax() ? filter.getMax() : 1) * filter.getCheckpointintervalmultiplier(),
  };
}

function subscribe(call: ReadCall, node: StandInNode, source: Source): void {
  const confirmation = new streams.ReadResp.SubscriptionConfirmation();
  confirmation.setSubscriptionId(randomUUID());
  const confirmed = new streams.ReadResp();
  confirmed.setConfirmation(confirmation);
  call.write(confirmed);
  let looked = 0;
  const push = (event: LoggedEvent) => {
    if (source.matches(event)) call.write(readEvent(event));
    looked += 1;
    if (source.checkpointEvery > 0 && looked % source.checkpointEvery === 0)
      call.write(checkpointAt(event));
  };
  // A subscription starts after the place it names.
  if (!source.fromEnd)
    for (const event of source.events) if ((source.compareToStart?.(event) ?? 1) > 0) push(event);
  const caughtUp = new streams.ReadResp();
  caughtUp.setCaughtUp(new streams.ReadResp.CaughtUp());
  call.write(caughtUp);
  const unfollow = node.cluster.log.follow((event) => {
    if (node.has(event)) push(event);
  });
  const end = (error: ServiceError | null) => {
    forget();
    if (error === null) call.end();
    else call.emit('error', error);
  };
  const subscription = { end, fallBehind: () => void call.write(fellBehind()) };
  const forget = () => {
    unfollow();
    node.subscriptions.delete(subscription);
  };
  node.subscriptions.add(subscription);
  call.on('cancelled', forget).on('close', forget).on('error', forget);
}

/** Sends a subscriber the message that it reads too slowly. The server keeps serving it. */
function fellBehind(): ReadResp {
  const response = new streams.ReadResp();
  response.setFellBehind(new streams.ReadResp.FellBehind());
  return response;
}

function checkpointAt(event: LoggedEvent): ReadResp {
  const checkpoint = new streams.ReadResp.Checkpoint();
  checkpoint.setCommitPosition(String(event.commit));
  checkpoint.setPreparePosition(String(event.prepare));
  const response = new streams.ReadResp();
  response.setCheckpoint(checkpoint);
  return response;
}
