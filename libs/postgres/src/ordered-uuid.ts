import { randomUUID } from 'node:crypto';

/**
 * A UUIDv7 (RFC 9562, section 5.7): the time in milliseconds, then 74 random bits. Use it for keys of large tables. Keys
 * of the same time share a page of the index. With random keys almost every row changes another page, and the
 * write-ahead log gets a copy of each page that is changed for the first time after a checkpoint.
 */
export function orderedUuid(nowMs: number = Date.now()): string {
  const time = nowMs.toString(16).padStart(12, '0');
  // The random bits are those of a UUIDv4, which Node takes from a pool; both have the variant at the same place.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
