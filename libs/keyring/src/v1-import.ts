/**
 * Imports the wrapped data keys that lie inside old events into the table, so that the master key that wraps
 * them can be taken out. Reads the log once: how far it was read is kept in `keyring_state`, and each page is
 * one transaction.
 */
import { createSecretKey } from 'node:crypto';
import { beginning, type EventStore, type RecordedEvent } from '@pis/event-store';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import { decrypt, orNull } from './cipher.js';
import { purposeOf } from './data-keys.js';
import { firstVersion } from './data-key-table.js';
import { type MasterKeys, v1KeyOf } from './master-keys.js';
import { type Owner, ownerOf } from './owner.js';
import { orUnavailable } from './pg-data-key-table.js';
import { parseV1, v1DigestOf, v1SealedFor, type V1Text } from './v1-texts.js';

/** Events in a page, and so in a transaction. */
const pageMax = 500;
/** The fields of events that hold sealed texts. No client chooses the name of a field. */
const sealedFields = new Set(['sealed', 'sealedSecret']);

export interface ImportOptions {
  readonly pool: pg.Pool;
  readonly store: EventStore;
  readonly masterKeys: MasterKeys;
}

export interface ImportReport {
  readonly eventsRead: number;
  /** Keys imported by this run. */
  readonly imported: number;
  /** Sealed texts that nobody can open: they were altered. */
  readonly unreadable: number;
}

interface FoundText extends V1Text {
  readonly digest: string;
  readonly owners: readonly Owner[];
}

interface FoundKey {
  readonly owner: Owner;
  readonly digest: string;
  readonly key: Buffer;
}

/**
 * False in a store that no older release wrote to. Stays true after a rotation: a process of an older release
 * that was not stopped may still write such texts.
 * @throws StoreUnavailable
 */
export async function mayHaveV1Keys(pool: Pick<pg.Pool, 'query'>): Promise<boolean> {
  const { rows } = await orUnavailable(() =>
    pool.query("SELECT FROM keyring_state WHERE v1_key_id IS NOT NULL OR imported_to <> ''"),
  );
  return rows.length > 0;
}

/** @throws StoreUnavailable, also when this process does not have the master key of a text */
export async function importV1Keys(
  { pool, store, masterKeys }: ImportOptions,
  onPage: (report: ImportReport) => void,
): Promise<ImportReport> {
  let report: ImportReport = { eventsRead: 0, imported: 0, unreadable: 0 };
  for await (const { events, position } of pagesNotImported({ pool, store })) {
    const texts = await unknownTexts(pool, events.flatMap(textsOf));
    const { keys, unreadable } = openKeys(texts, masterKeys);
    const imported = await importKeys({ pool, masterKeys }, keys, position);
    report = {
      eventsRead: report.eventsRead + events.length,
      imported: report.imported + imported,
      unreadable: report.unreadable + unreadable,
    };
    onPage(report);
  }
  return report;
}

/**
 * Events with sealed texts whose keys were not imported yet, by master key ID. Pages at the beginning without
 * any count as imported, so that nobody reads them again.
 * @throws StoreUnavailable
 */
export async function countNotImported(
  options: Pick<ImportOptions, 'pool' | 'store'>,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  let importedTo = beginning;
  for await (const { events, position } of pagesNotImported(options)) {
    const unknown = await unknownTexts(options.pool, events.flatMap(textsOf));
    const digests = new Set(unknown.map(({ digest }) => digest));
    for (const event of events) {
      const texts = textsOf(event).filter(({ digest }) => digests.has(digest));
      for (const keyId of new Set(texts.map(({ wrappedKey }) => v1KeyOf(wrappedKey).keyId)))
        counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
    }
    if (counts.size === 0) importedTo = position;
  }
  await orUnavailable(() =>
    options.pool.query('UPDATE keyring_state SET imported_to = $1 WHERE imported_to < $1', [
      importedTo,
    ]),
  );
  return counts;
}

async function* pagesNotImported({ pool, store }: Pick<ImportOptions, 'pool' | 'store'>) {
  const { rows } = await orUnavailable(() =>
    pool.query<{ imported_to: string }>('SELECT imported_to FROM keyring_state'),
  );
  for (let after = rows[0]?.imported_to ?? beginning; ; ) {
    const page = await store.readLog({ after, pageMax, leaveSealed: true });
    if (page.events.length === 0 && page.position === after) return;
    yield page;
    after = page.position;
  }
}

function textsOf(event: RecordedEvent): FoundText[] {
  const found: V1Text[] = [];
  const ids = new Set([event.streamId.slice(event.streamId.indexOf('-') + 1)]);
  const visit = (value: unknown, name: string) => {
    if (typeof value === 'string') {
      const text = sealedFields.has(name) ? parseV1(value) : null;
      if (text !== null) found.push(text);
      if (name === 'id' || name.endsWith('Id')) ids.add(value);
    } else if (typeof value === 'object' && value !== null)
      for (const [field, inner] of Object.entries(value)) visit(inner, field);
  };
  visit(event.data, '');
  const owners = Object.values(ownerOf).flatMap((of) => [...ids].map(of));
  return found.map((text) => ({ ...text, owners, digest: v1DigestOf(text.wrappedKey) }));
}

async function unknownTexts(
  pool: Pick<pg.Pool, 'query'>,
  texts: readonly FoundText[],
): Promise<readonly FoundText[]> {
  if (texts.length === 0) return [];
  const { rows } = await orUnavailable(() =>
    pool.query<{ v1_digest: string }>('SELECT v1_digest FROM data_keys WHERE v1_digest = ANY($1)', [
      texts.map(({ digest }) => digest),
    ]),
  );
  const known = new Set(rows.map(({ v1_digest: digest }) => digest));
  return texts.filter(({ digest }) => !known.has(digest));
}

/** One key for each digest. The owner is the one that the text opens for. */
function openKeys(texts: readonly FoundText[], masterKeys: MasterKeys) {
  const keys = new Map<string, FoundKey>();
  let unreadable = 0;
  for (const text of texts) {
    if (keys.has(text.digest)) continue;
    const key = openKey(text, masterKeys);
    if (key === null) unreadable += 1;
    else keys.set(text.digest, key);
  }
  return { keys: [...keys.values()], unreadable };
}

/** Null when it cannot be opened, by anybody. @throws StoreUnavailable without its master key */
function openKey(found: FoundText, masterKeys: MasterKeys): FoundKey | null {
  const { wrappedKey, iv, text, digest, owners } = found;
  const { keyId, wrapped } = v1KeyOf(wrappedKey);
  const key = orNull(() => masterKeys.unwrapV1(wrapped, keyId));
  if (key === null) return null;
  const encrypted = { iv: Buffer.from(iv, 'base64url'), text: Buffer.from(text, 'base64url') };
  const dataKey = createSecretKey(key);
  const owner = owners.find((one) => orNull(() => decrypt(dataKey, encrypted, v1SealedFor(one))));
  return owner === undefined ? null : { owner, digest, key };
}

/**
 * A transaction for each page. It holds the row of `keyring_state`: of several imports one works at a time,
 * and no owner is destroyed meanwhile. A destroyed owner gets a destroyed row, never a key.
 */
function importKeys(
  { pool, masterKeys }: Pick<ImportOptions, 'pool' | 'masterKeys'>,
  keys: readonly FoundKey[],
  position: string,
): Promise<number> {
  return orUnavailable(() =>
    inTransaction(pool, async (client) => {
      const state = await client.query<{ imported_to: string }>(
        'SELECT imported_to FROM keyring_state FOR UPDATE',
      );
      const rows = await rowsOf(client, keys, masterKeys);
      if (rows.length > 0) await insert(client, rows);
      if ((state.rows[0]?.imported_to ?? '') < position)
        await client.query('UPDATE keyring_state SET imported_to = $1', [position]);
      return rows.filter(({ wrapped }) => wrapped !== null).length;
    }),
  );
}

interface NewRow {
  readonly owner: Owner;
  readonly version: number;
  readonly wrapped: string | null;
  readonly wrappingKeyId: string | null;
  readonly digest: string;
}

async function rowsOf(
  client: pg.ClientBase,
  keys: readonly FoundKey[],
  masterKeys: MasterKeys,
): Promise<readonly NewRow[]> {
  const { rows } = await client.query<{
    owner: Owner;
    lowest: number;
    destroyed: boolean;
    digests: readonly (string | null)[];
  }>(
    `SELECT owner, min(version) AS lowest, bool_or(destroyed_at IS NOT NULL) AS destroyed,
            array_agg(v1_digest) AS digests
     FROM data_keys WHERE owner = ANY($1) GROUP BY owner`,
    [keys.map(({ owner }) => owner)],
  );
  const known = new Map(rows.map((row) => [row.owner, row]));
  const lowest = new Map(rows.map((row) => [row.owner, Math.min(row.lowest, firstVersion)]));
  return keys.flatMap(({ owner, digest, key }) => {
    if (known.get(owner)?.digests.includes(digest)) return [];
    const version = (lowest.get(owner) ?? firstVersion) - 1;
    lowest.set(owner, version);
    const isDestroyed = known.get(owner)?.destroyed === true;
    const wrapped = isDestroyed
      ? { wrapped: null, wrappingKeyId: null }
      : masterKeys.wrap(key, purposeOf({ owner, version }));
    return [{ owner, version, digest, ...wrapped }];
  });
}

async function insert(client: pg.ClientBase, rows: readonly NewRow[]): Promise<void> {
  await client.query(
    `INSERT INTO data_keys (owner, version, wrapped, wrapping_key_id, v1_digest, destroyed_at)
     SELECT owner, version, wrapped, wrapping_key_id, digest,
            CASE WHEN wrapped IS NULL THEN now() END
     FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[])
       AS given (owner, version, wrapped, wrapping_key_id, digest)`,
    [
      rows.map(({ owner }) => owner),
      rows.map(({ version }) => version),
      rows.map(({ wrapped }) => wrapped),
      rows.map(({ wrappingKeyId }) => wrappingKeyId),
      rows.map(({ digest }) => digest),
    ],
  );
}
