/** Which projections follow the streams of each category. A new category does not compile until it is here. */
import { categories, type Category, type StreamPrefix, streamPrefixOf } from '@pis/domain';

/** None if no list shows the streams' data. */
const projectionsOf = {
  apiKey: ['directory'],
  approval: ['directory'],
  collection: ['fees', 'movements'],
  contact: ['directory'],
  contactIdentity: [],
  feePeriod: ['fees'],
  operatorAction: [],
  operatorNotice: [],
  organization: ['directory'],
  originator: ['directory'],
  payment: ['payments', 'events', 'figures', 'movements', 'history'],
  settlement: [],
  statement: ['directory', 'events'],
  store: [],
  user: [],
  userAction: [],
  webhookEndpoints: ['directory'],
} as const satisfies Record<Category, readonly string[]>;

/**
 * What the projections follow in releases that do not record how far they have read each kind of stream (passed-over.ts).
 * Nothing is added here: kinds that a release adds to a projection are passed over by the release before it.
 */
const followedByAll: Partial<Record<ProjectionName, readonly Category[]>> = {
  directory: ['apiKey', 'contact', 'organization', 'originator', 'webhookEndpoints'],
  events: ['payment'],
  fees: ['collection', 'feePeriod'],
  figures: ['payment'],
  history: ['payment'],
  movements: ['collection', 'payment'],
  payments: ['payment'],
};

export type ProjectionName = (typeof projectionsOf)[Category][number];

/** The name prefixes of the streams that a projection follows. */
export function prefixesFollowedBy(name: ProjectionName): readonly StreamPrefix[] {
  return categories
    .filter((category) => projectionsOf[category].some((projection) => projection === name))
    .map(streamPrefixOf);
}

/** Those of them that processes of some release that runs the projection do not follow. */
export function laterPrefixesOf(name: ProjectionName): readonly StreamPrefix[] {
  const always = (followedByAll[name] ?? []).map(streamPrefixOf);
  return prefixesFollowedBy(name).filter((prefix) => !always.some((known) => known === prefix));
}
