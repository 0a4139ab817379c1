/**
 * Spans of the event store, at the port: the same with every adapter. An append that no request or message
 * began, for example of what a bank has reported, continues the trace that its events name.
 */
import type { EventStore } from '@pis/event-store';
import { isSampled, traced } from '../tracing.js';
import { recordedSpan } from './batches.js';

export function tracedStore(store: EventStore): EventStore {
  const within = <Result>(
    operation: string,
    streamId: string,
    work: () => Promise<Result>,
    traceparent?: string | null,
  ) => {
    const isActive = recordedSpan() !== null;
    if (!isActive && !isSampled(traceparent ?? null)) return work();
    const attributes = attributesOf(streamId);
    const parent = isActive ? {} : { traceparent };
    return traced(`event store ${operation}`, { kind: 'internal', attributes, ...parent }, work);
  };
  return {
    ...store,
    append: (streamId, expected, events) =>
      within(
        'append',
        streamId,
        () => store.append(streamId, expected, events),
        events[0]?.metadata.traceparent,
      ),
    readStream: (streamId, options) =>
      within('read', streamId, () => store.readStream(streamId, options)),
    readStreams: (streamIds) =>
      within('read', streamIds[0] ?? '', () => store.readStreams(streamIds)),
  };
}

/** The ids of other streams are derived from keys and account numbers. */
const named: Readonly<Record<string, string>> = { payment: 'pis.payment.id' };

function attributesOf(streamId: string): Record<string, string> {
  const dash = streamId.indexOf('-');
  const category = dash < 0 ? streamId : streamId.slice(0, dash);
  const attribute = named[category];
  return {
    'pis.stream.category': category,
    ...(attribute === undefined ? {} : { [attribute]: streamId.slice(dash + 1) }),
  };
}
