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
];

const kindsInWords: Readonly<Record<string, readonly MarkerKind[]>> = {
  names,
  'names, e-mail, phone, address': everything,
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
