/** Where personal data may lie in the clear, and nowhere else. docs/security.md shows the same list. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { MarkerKind } from './markers.js';
import { root } from './process.js';

export interface HoldingPlace {
  readonly place: string;
  readonly kinds: readonly MarkerKind[];
  /** Where a broker carries the messages. Absent: with either. */
  readonly broker?: 'embedded' | 'kafka';
}

const everything = ['name', 'details'] as const;
const names = ['name'] as const;

export const holdingPlaces: readonly HoldingPlace[] = [
  { place: 'contacts.item', kinds: everything },
  { place: 'originators.item', kinds: everything },
  { place: 'payments.item', kinds: names },
  { place: 'webhook_fan_outs.body', kinds: names },
  { place: 'webhook_deliveries.body', kinds: names },
  { place: 'webhook_finished_deliveries.body', kinds: names },
  { place: 'webhook_attempts.response_excerpt', kinds: names },
  { place: 'deferred_messages.value', kinds: names },
  { place: 'dead_letters.value', kinds: names, broker: 'embedded' },
  { place: 'pis.payment-events.v1 value', kinds: names, broker: 'kafka' },
  { place: 'pis.payment-events.v1.dlq value', kinds: names, broker: 'kafka' },
  { place: 'pis.directory-events.v1 value', kinds: everything, broker: 'kafka' },
  { place: 'bank_notifications.corrected', kinds: ['declared'] },
  { place: 'bank_files.bytes', kinds: ['declared'] },
];

/** Tables that the run may leave empty, and why. Every other table must have had a row before the erasure. */
export const mayBeEmpty: Readonly<Record<string, string>> = {
  iso_message_numbers: 'only Fedwire counts messages, and Fedwire has hours; holds numbers',
  routing_directory: 'the sandbox ships its own; holds banks',
  routing_directory_imports: 'as routing_directory; holds times',
  ach_inbox_files: 'only for files that a bank does not let us delete; holds names of files',
  ach_prenotes: 'only for connections with prenotes; holds MACs of accounts and codes of the bank',
  ach_prenote_waits: 'as ach_prenotes; holds references',
  rate_limits: 'rows are of the last second; holds counts',
  skipped_events: 'operators skip events; holds IDs, the actor and the reason',
  sign_in_failures: 'rows are of the last 15 minutes; holds MACs of networks',
  oidc_attempts_used: 'only with an OpenID provider; holds digests',
  statements: 'only of months that have ended; holds IDs, sizes and digests',
  statement_runs: 'as statements; holds months',
  statement_attempts: 'as statements; holds IDs',
  documents: 'as statements; holds IDs, sizes and digests',
  document_writes: 'as documents; holds IDs',
  document_chunks: 'as documents; holds sealed bytes',
  exports: 'only when a client asks for one; holds IDs, the actor, cursors, times and digests',
  export_parts: 'as exports; holds IDs and sizes',
  export_removals: 'as exports; holds IDs',
  export_downloads:
    'only when a user of the dashboard downloads one; holds IDs, the actor and times',
  fee_periods: 'only of months that have ended; holds IDs and sums',
  fee_collections: 'as fee_periods; holds IDs and sums',
  erased_parties: 'filled by the erasure; holds IDs',
  party_erasures: 'filled by the erasure; holds IDs',
  // With Kafka and EventStoreDB, which are searched instead.
  dead_letters: 'in the topics on Kafka',
  events: 'in EventStoreDB',
  event_log_head: 'in EventStoreDB',
};

const kindsInWords: Readonly<Record<string, readonly MarkerKind[]>> = {
  names,
  'names, e-mail, phone, address': everything,
  'account data of the scenarios file': ['declared'],
};

/** The rows of the table in docs/security.md whose first cell is a place. */
export function documentedPlaces(): readonly Pick<HoldingPlace, 'place' | 'kinds'>[] {
  const text = readFileSync(path.join(root, 'docs/security.md'), 'utf8');
  const [, table = ''] = text.split(/<!-- (?:end of )?places -->/);
  return [...table.matchAll(/^\| `([^`]+)`\s*\| ([^|]+?)\s*\|/gm)].map(
    ([, place = '', words = '']) => ({
      place,
      kinds: kindsInWords[words] ?? [],
    }),
  );
}
