/**
 * Which events are public, and what they publish: one entry for each category of streams. A new aggregate
 * does not compile without an entry here. A new event of a public aggregate does not compile until it is mapped.
 */
import {
  contactView,
  type DirectoryEventType,
  type IntegrationEventOn,
  originatorView,
  paymentEventData,
  type StatementIntegrationEvent,
  type Topic,
  topics,
} from '@pis/contracts';
import {
  type Aggregate,
  categories,
  type Category,
  contact,
  type ContactEvent,
  type DomainCommand,
  type DomainEvent,
  isPaymentNote,
  originator,
  type OriginatorEvent,
  payment,
  paymentEventTypeOf,
  statement,
  type StatementEvent,
  streamNameOf,
  streamPrefixOf,
} from '@pis/domain';
import { foldOf, type Loaded, type RecordedEvent } from '@pis/event-store';

/** A stream's state before and after an event. */
export interface Step<State = unknown> {
  readonly before: Loaded<State>;
  readonly after: Loaded<State>;
}

/** The content of an integration event. Its other fields come from the recorded event. */
type ContentOn<In extends Topic> = Pick<
  IntegrationEventOn<In>,
  'eventType' | 'organizationId' | 'data'
>;

export type Fold = (events: readonly RecordedEvent[], onto?: Loaded<unknown>) => Loaded<unknown>;

/** The public facts of one category. `contentOf` is null for a fact that only this service may see. */
export interface PublicFacts<In extends Topic = Topic> {
  readonly topic: In;
  readonly fold: Fold;
  readonly contentOf: (type: string, step: Step) => ContentOn<In> | null;
}

/** A category without public facts: none of its events leaves the event store. */
const internal = 'internal';

function published<
  In extends Topic,
  State,
  Command extends DomainCommand,
  Event extends DomainEvent,
  Code extends string,
>(
  topic: In,
  aggregate: Aggregate<State, Command, Event, Code>,
  contentOf: (type: Event['type'], before: State, after: State) => ContentOn<In> | null,
): PublicFacts<In> {
  const fold = foldOf(aggregate);
  return {
    topic,
    // States of all categories share caches with the stream as key, so each state returns to its own fold.
    fold: (events, onto) => fold(events, onto as Loaded<State> | undefined),
    // This aggregate folded the step, and it refuses unknown types of events.
    contentOf: (type, { before, after }) =>
      contentOf(type as Event['type'], before.state as State, after.state as State),
  };
}

const contactEventTypes = {
  ContactCreated: 'contact.created',
  ContactUpdated: 'contact.updated',
  ContactIdentityForfeited: null,
  ContactCreationForfeited: null,
  ContactCorrectionReported: null,
  ContactCorrectionDismissed: null,
  ContactReturnReported: null,
  UnsavedContactNoted: null,
  ContactErasureRequested: null,
  ContactErasureWithdrawn: null,
  ContactErasureConfirmed: null,
  ContactErased: null,
} as const satisfies Record<ContactEvent['type'], DirectoryEventType | null>;

const originatorEventTypes = {
  OriginatorCreated: 'originator.created',
  OriginatorUpdated: 'originator.updated',
  OriginatorErasureRequested: null,
  OriginatorErasureWithdrawn: null,
  OriginatorErasureConfirmed: null,
  OriginatorErased: null,
} as const satisfies Record<OriginatorEvent['type'], DirectoryEventType | null>;

const statementEventTypes = {
  StatementGenerated: 'statement.generated',
} as const satisfies Record<StatementEvent['type'], StatementIntegrationEvent['eventType']>;

const publicFacts = {
  payment: published(topics.payments, payment, (type, before, after) =>
    after === null || isPaymentNote(type)
      ? null
      : {
          eventType: paymentEventTypeOf(after.status),
          organizationId: after.organizationId,
          data: paymentEventData(after, before?.status ?? null),
        },
  ),
  contact: published(topics.directory, contact, (type, _before, after) => {
    const eventType = contactEventTypes[type];
    if (eventType === null || after === null) return null;
    return { eventType, organizationId: after.organizationId, data: contactView(after) };
  }),
  originator: published(topics.directory, originator, (type, _before, after) => {
    const eventType = originatorEventTypes[type];
    if (eventType === null || after === null) return null;
    return { eventType, organizationId: after.organizationId, data: originatorView(after) };
  }),
  statement: published(topics.statements, statement, (type, _before, after) => {
    if (after === null) return null;
    const { organizationId, statementId, originatorId, periodYear, periodMonth } = after;
    const data = { statementId, originatorId, periodYear, periodMonth };
    return { eventType: statementEventTypes[type], organizationId, data };
  }),
  apiKey: internal,
  approval: internal,
  collection: internal,
  contactIdentity: internal,
  feePeriod: internal,
  operatorAction: internal,
  operatorNotice: internal,
  organization: internal,
  settlement: internal,
  store: internal,
  user: internal,
  userAction: internal,
  webhookEndpoints: internal,
} as const satisfies Record<Category, PublicFacts | typeof internal>;

type PublicTopic = {
  [In in Category]: (typeof publicFacts)[In] extends PublicFacts<infer On> ? On : never;
}[Category];

/**
 * Whether the relay publishes to each topic. A new topic does not compile without an entry here. A topic that
 * the relay fills must be the topic of a category.
 */
const topicUse = {
  [topics.payments]: 'filled',
  [topics.directory]: 'filled',
  [topics.statements]: 'filled',
} as const satisfies Record<PublicTopic, 'filled'> &
  Record<Exclude<Topic, PublicTopic>, 'reserved'>;

const allTopics = Object.keys(topicUse) as readonly Topic[];

/** Topics that the relay publishes to. */
export const filledTopics = allTopics.filter((topic) => topicUse[topic] === 'filled');

/** Null for a stream without public events. */
export function publicFactsOf(streamId: string): PublicFacts | null {
  const name = streamNameOf(streamId);
  if (name === null) return null;
  const facts = publicFacts[name.category];
  return facts === internal ? null : facts;
}

/**
 * The prefixes of the streams that supply the messages of these topics.
 * @throws Error when a topic is not one of ours
 */
export function prefixesOf(wanted: readonly string[]): readonly string[] {
  for (const name of wanted)
    if (!allTopics.some((topic) => topic === name)) throw new Error(`there is no topic ${name}`);
  return categories
    .filter((category) => {
      const facts = publicFacts[category];
      return facts !== internal && wanted.includes(facts.topic);
    })
    .map(streamPrefixOf);
}

/**
 * What readers of the topics follow in releases that do not record how far they have read each kind of stream (passed-over.ts
 * of read-models). Nothing is added here.
 */
const followedByAll: readonly Category[] = ['payment', 'contact', 'originator'];

/** Those of the prefixes whose streams a reader of another release may pass over. @throws Error as of prefixesOf */
export function laterPrefixesAmong(wanted: readonly string[]): readonly string[] {
  const always = followedByAll.map(streamPrefixOf);
  return prefixesOf(wanted).filter((prefix) => !always.some((known) => known === prefix));
}
