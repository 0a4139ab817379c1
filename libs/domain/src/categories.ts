/**
 * The categories of streams: one for each aggregate. A stream is named `<category>-<id>`.
 *
 * Tables that must know every aggregate are keyed by category, so that a new one does not compile
 * until each of those tables has an entry for it.
 */

/** No category contains a hyphen: the first one ends it. */
export const categories = [
  'apiKey',
  'approval',
  'collection',
  'contact',
  'contactIdentity',
  'feePeriod',
  'operatorAction',
  'operatorNotice',
  'organization',
  'originator',
  'payment',
  'settlement',
  'statement',
  'store',
  'user',
  'userAction',
  'webhookEndpoints',
] as const;
export type Category = (typeof categories)[number];

export type StreamPrefix = `${Category}-`;

/** What the names of a category's streams begin with. */
export function streamPrefixOf<In extends Category>(category: In): `${In}-` {
  return `${category}-`;
}

/** The name of the stream that holds the aggregate with this ID. */
export function streamIdOf<In extends Category>(category: In, id: string): `${In}-${string}` {
  return `${streamPrefixOf(category)}${id}`;
}

export interface StreamName {
  readonly category: Category;
  readonly id: string;
}

/** The parts of a stream's name; null when it belongs to no category. */
export function streamNameOf(streamId: string): StreamName | null {
  const end = streamId.indexOf('-');
  const name = streamId.slice(0, end);
  const category = categories.find((known) => known === name);
  return end === -1 || category === undefined ? null : { category, id: streamId.slice(end + 1) };
}
