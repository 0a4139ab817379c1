/** Which events this release knows: the schema versions of each type, by category, and the form of personal data. */
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
  personalPartsOf,
  sealedText,
  settlementAccount,
  statement,
  storeBinding,
  storedForm,
  streamNameOf,
  user,
  userAction,
  webhookEndpoints,
} from '@pis/domain';
import { checkpointStream } from '../leaf.js';
import type { EventReading } from './stored-event.js';

/** The current version of each event type. Every older version can be read. */
const versions = {
  apiKey: apiKey.schemaVersions,
  approval: approval.schemaVersions,
  collection: collection.schemaVersions,
  contact: contact.schemaVersions,
  contactIdentity: contactIdentity.schemaVersions,
  feePeriod: feePeriod.schemaVersions,
  operatorAction: operatorAction.schemaVersions,
  operatorNotice: operatorNotice.schemaVersions,
  organization: organization.schemaVersions,
  originator: originator.schemaVersions,
  payment: payment.schemaVersions,
  settlement: settlementAccount.schemaVersions,
  statement: statement.schemaVersions,
  store: storeBinding.schemaVersions,
  user: user.schemaVersions,
  userAction: userAction.schemaVersions,
  webhookEndpoints: webhookEndpoints.schemaVersions,
} as const satisfies Record<Category, Readonly<Record<string, number>>>;

/** Of the sealed texts of personal data: `v2.` is of older releases. */
const sealedPrefixes = ['v2.', 'v3.'];

/** Why this release cannot read the event; null when it can. Opens nothing. */
export function unknownIn({ event, data, metadata }: EventReading): string | null {
  const { streamId, type } = event;
  const { schemaVersion, at } = metadata;
  if (at === null || Number.isNaN(Date.parse(at))) return 'metadata.at is no time';
  if (metadata.actor === null) return 'metadata.actor is missing';
  if (streamId === checkpointStream) return null;
  const category = streamNameOf(streamId)?.category;
  if (category === undefined) return 'the stream belongs to no known category';
  const known: Readonly<Record<string, number>> = versions[category];
  const current = Object.hasOwn(known, type) ? known[type] : undefined;
  if (current === undefined) return `the type ${type} is unknown in streams of ${category}`;
  if (schemaVersion === null || !Number.isInteger(schemaVersion) || schemaVersion < 1)
    return 'metadata.schemaVersion is missing';
  if (schemaVersion > current)
    return `schema version ${schemaVersion} of ${type} is unknown, the newest is ${current}`;
  return storedForm(streamId, type, schemaVersion) === 'sealed'
    ? unsealedIn({ streamId, type, data })
    : null;
}

function unsealedIn(event: Parameters<typeof personalPartsOf>[0]): string | null {
  try {
    const isSealed = personalPartsOf(event)
      .map(sealedText)
      .every((text) => sealedPrefixes.some((prefix) => text.startsWith(prefix)));
    return isSealed ? null : 'personal data has a sealed text of unknown form';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
