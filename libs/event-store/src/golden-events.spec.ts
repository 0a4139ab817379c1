/**
 * Golden samples: one event of each type and schema version that a release ever wrote, in libs/domain/golden. They are
 * kept forever: a log that holds such an event must be read, whatever the code looks like by then.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  apiKey,
  approval,
  type Category,
  collection,
  contact,
  contactIdentity,
  feePeriod,
  operatorAction,
  operatorNotice,
  organization,
  originator,
  payment,
  settlementAccount,
  statement,
  storeBinding,
  user,
  userAction,
  webhookEndpoints,
} from '@pis/domain';
import type { RecordedEvent } from './port.js';
import { domainEventOf } from './readable.js';

const folder = path.join(import.meta.dirname, '../../domain/golden');

const aggregates = {
  apiKey,
  approval,
  collection,
  contact,
  contactIdentity,
  feePeriod,
  operatorAction,
  operatorNotice,
  organization,
  originator,
  payment,
  settlement: settlementAccount,
  statement,
  store: storeBinding,
  user,
  userAction,
  webhookEndpoints,
} as const satisfies Record<Category, unknown>;

interface Sample {
  /** As that release wrote it, with its personal data opened. */
  readonly data: RecordedEvent['data'];
  /** The same in the current schema version; absent where nothing was converted. */
  readonly now?: RecordedEvent['data'];
}

/** By type, and then by schema version. Payments and collections have the same events. */
type Samples = Readonly<Record<string, Readonly<Record<string, Sample>>>>;

function samplesOf(category: Category): Samples {
  const name = category === 'collection' ? 'payment' : category;
  return JSON.parse(readFileSync(path.join(folder, `${name}.json`), 'utf8')) as Samples;
}

const categories = Object.keys(aggregates) as readonly Category[];
const known = categories.flatMap((category) =>
  Object.entries(aggregates[category].schemaVersions).flatMap(([type, newest]) =>
    Array.from({ length: newest }, (_, index) => ({ category, type, version: index + 1 })),
  ),
);

it.each(known)(
  'version $version of $type in $category has a golden sample, which is read as the newest version',
  ({ category, type, version }) => {
    const sample = samplesOf(category)[type]?.[version];
    if (sample === undefined)
      throw new Error(`libs/domain/golden has no sample of version ${version} of ${type}`);
    const recorded: RecordedEvent = {
      ...{ streamId: `${category}-golden`, revision: 0, position: '1', id: 'golden', type },
      data: sample.data,
      metadata: {
        ...{ at: '2026-11-21T09:00:00.000Z', schemaVersion: version, actor: 'system:golden' },
        ...{ requestId: null, correlationId: 'golden', causationId: null, traceparent: null },
        previousHash: null,
      },
    };
    const event = domainEventOf<{ readonly data: unknown }>(aggregates[category], recorded);
    expect(event).toMatchObject({ type, at: recorded.metadata.at });
    expect(event.data).toEqual(sample.now ?? sample.data);
  },
);

it('no golden sample is of an event that the code has forgotten', () => {
  const samples = categories.flatMap((category) =>
    Object.entries(samplesOf(category)).flatMap(([type, versions]) =>
      Object.keys(versions).map((version) => ({ category, type, version: Number(version) })),
    ),
  );
  const sorted = (all: typeof known) => all.map((one) => JSON.stringify(one)).toSorted();
  expect(sorted(samples)).toEqual(sorted(known));
});
