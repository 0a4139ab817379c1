/** Finds an API key by its id: its stream is named by the digest, which operators do not have. */
import { streamPrefixOf } from '@pis/domain';
import { beginning, type EventStore } from '@pis/event-store';
import type pg from 'pg';
import { categoryEvents } from './category-events.js';
import { readCheckpoint } from './checkpoint.js';
import { orUnavailable } from './or-unavailable.js';

/**
 * The digest of the key, null when it does not exist. Uses the index of the list of keys. A key that is not
 * listed is searched in the new part of the log, then in all of it. So a revocation waits neither for a
 * projector nor for a stream that is held back. The list is not trusted: whoever changed a row could turn the
 * revocation of a stolen key to another key.
 * @param apiKeyId UUID
 * @param inTurn runs the search of the log, which may take long
 * @throws StoreUnavailable, and what `inTurn` throws
 */
export async function findApiKeyDigest(
  pool: pg.Pool,
  store: EventStore,
  apiKeyId: string,
  inTurn: (search: () => Promise<string | null>) => Promise<string | null> = (search) => search(),
): Promise<string | null> {
  // Read before the list, so that a key that is listed between the two reads is found in the log.
  const listedTo = await orUnavailable(() => readCheckpoint(pool, 'directory'));
  const { rows } = await orUnavailable(() =>
    pool.query<{ digest: string }>('SELECT digest FROM api_keys WHERE api_key_id = $1', [apiKeyId]),
  );
  const [listed] = rows;
  if (listed !== undefined && (await isDigestOf(store, listed.digest, apiKeyId)))
    return listed.digest;
  return inTurn(async () => {
    for (const from of [listedTo, beginning])
      for await (const { type, data } of categoryEvents(store, 'apiKey', from))
        if (type === 'ApiKeyCreated' && data['apiKeyId'] === apiKeyId)
          return String(data['digest']);
    return null;
  });
}

async function isDigestOf(store: EventStore, digest: string, apiKeyId: string): Promise<boolean> {
  const [created] = await store.readStream(`${streamPrefixOf('apiKey')}${digest}`, { maxCount: 1 });
  return created?.data['apiKeyId'] === apiKeyId;
}
