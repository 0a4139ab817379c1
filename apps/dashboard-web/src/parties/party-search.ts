/** What the addresses of contacts say. */
import type { ContactSearch } from './party-queries.js';

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Of an address, whatever it says. The router reads `1842` as a number. */
export function contactSearchOf({ search, originatorId }: Record<string, unknown>): ContactSearch {
  const text = typeof search === 'number' ? String(search) : search;
  return {
    ...(typeof text === 'string' && text !== '' ? { search: text } : {}),
    ...(isId(originatorId) ? { originatorId } : {}),
  };
}

/** For whom a new contact is. */
export function newContactSearchOf({
  originatorId,
}: Record<string, unknown>): Pick<ContactSearch, 'originatorId'> {
  return isId(originatorId) ? { originatorId } : {};
}

export function isId(value: unknown): value is string {
  return typeof value === 'string' && uuidForm.test(value);
}
