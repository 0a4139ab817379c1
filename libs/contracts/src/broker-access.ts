/** What each app may do on the broker: what it needs and nothing else. `pis kafka apply --acls` makes ACLs of it. */
import { deadLetterTopicOf, type Topic, topics } from './topics.js';

/** The topics that each consumer group handles, on either broker. */
export const topicsOfGroup = {
  'rail-executor': [topics.payments],
  'webhook-dispatcher': [topics.payments, topics.statements],
} as const satisfies Record<string, readonly Topic[]>;

/** The apps that use the broker. The others are never given a way to it. */
export const brokerApps = ['event-relay', 'rail-executor', 'webhook-dispatcher', 'cli'] as const;
export type BrokerApp = (typeof brokerApps)[number];

export interface BrokerRight {
  readonly principal: string;
  readonly resource: 'topic' | 'group';
  /** With the prefix. */
  readonly name: string;
  readonly operation: 'read' | 'write' | 'describe';
}

/** Reading and writing imply to describe. */
export function brokerRights(options: {
  readonly prefix: string;
  readonly principalOf: (app: BrokerApp) => string;
}): readonly BrokerRight[] {
  return brokerApps.flatMap((app) =>
    rightsOf[app].map(({ name, ...right }) => ({
      ...right,
      principal: options.principalOf(app),
      name: options.prefix + name,
    })),
  );
}

type Right = Omit<BrokerRight, 'principal'>;

const on =
  (resource: Right['resource'], operation: Right['operation']) =>
  (name: string): Right => ({ resource, name, operation });
const reads = on('topic', 'read');
const writes = on('topic', 'write');
const joins = on('group', 'read');
const follows = on('group', 'describe');

const groups = Object.keys(topicsOfGroup) as (keyof typeof topicsOfGroup)[];
const allTopics = Object.values(topics);

function handles(group: keyof typeof topicsOfGroup): readonly Right[] {
  const handled: readonly Topic[] = topicsOfGroup[group];
  return [
    joins(group),
    ...handled.flatMap((topic) => [reads(topic), writes(deadLetterTopicOf(topic))]),
  ];
}

const rightsOf = {
  // It records how far the groups are.
  'event-relay': [...allTopics.map(writes), ...groups.map(follows)],
  'rail-executor': handles('rail-executor'),
  'webhook-dispatcher': handles('webhook-dispatcher'),
  // Publishes parts of the log again, and dead letters, whose progress it keeps in groups of its own.
  cli: [
    ...allTopics.map(writes),
    ...allTopics.map((topic) => reads(deadLetterTopicOf(topic))),
    ...groups.map((group) => joins(`${group}.dead-letter-replay`)),
  ],
} as const satisfies Record<BrokerApp, readonly Right[]>;
