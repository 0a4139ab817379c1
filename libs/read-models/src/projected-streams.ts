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

export type ProjectionName = (typeof projectionsOf)[Category][number];

/** The name prefixes of the streams that a projection follows. */
export function prefixesFollowedBy(name: ProjectionName): readonly StreamPrefix[] {
  return categories
    .filter((category) => projectionsOf[category].some((projection) => projection === name))
    .map(streamPrefixOf);
}
