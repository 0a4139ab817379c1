/**
 * Cursors of lists: where a page ended, signed, and bound to the organization and the list. Opaque to
 * clients; a cursor that was altered, or is another organization's, is refused and not looked up.
 */
import { timingSafeEqual } from 'node:crypto';
import { problem } from '@pis/contracts';
import type { Keyring } from '@pis/keyring';
import type { ListCursor } from '@pis/read-models';
import { type ApiError, invalid } from './errors.js';
import { accepted, type Given } from './requests.js';

const signatureLength = 32;
const lengthMax = 300;

export class Cursors {
  constructor(private readonly keyring: Keyring) {}

  encode(list: string, organizationId: string, { createdAt, id }: ListCursor): string {
    return this.encodePlace(list, organizationId, `${createdAt}/${id}`);
  }

  /** Of a list whose places are not those of a ListCursor. */
  encodePlace(list: string, organizationId: string, place: string): string {
    const signed = `${place}/${this.sign(list, organizationId, place)}`;
    return Buffer.from(signed).toString('base64url');
  }

  /** Null for a cursor that this list did not return to this organization. */
  decode(list: string, organizationId: string, cursor: string): ListCursor | null {
    const place = this.decodePlace(list, organizationId, cursor);
    const [createdAt, id, ...rest] = place?.split('/') ?? [];
    return createdAt === undefined || id === undefined || rest.length > 0
      ? null
      : { createdAt, id };
  }

  /** Likewise. */
  decodePlace(list: string, organizationId: string, cursor: string): string | null {
    if (cursor.length > lengthMax || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
    const bytes = Buffer.from(cursor, 'base64url');
    // The last character has bits that decoding drops: one place has one spelling.
    if (bytes.toString('base64url') !== cursor) return null;
    const [, place, signature = ''] = /^(.*)\/([^/]*)$/s.exec(bytes.toString('utf8')) ?? [];
    if (place === undefined) return null;
    const expected = Buffer.from(this.sign(list, organizationId, place));
    const given = Buffer.from(signature);
    const genuine = given.length === expected.length && timingSafeEqual(given, expected);
    return genuine ? place : null;
  }

  /**
   * A validated query and where its page begins. Problems of both are reported together.
   * @throws ApiError VALIDATION_ERROR
   */
  page<Query>(
    list: string,
    organizationId: string,
    query: Given<Query>,
  ): { readonly query: Query; readonly after: ListCursor | undefined } {
    const { cursor } = query.given as { readonly cursor?: unknown };
    // A repeated parameter is an array: the schema reports it.
    if (typeof cursor !== 'string') return { query: accepted(query), after: undefined };
    const after = this.decode(list, organizationId, cursor);
    if (after === null) throw notOfThisList(query, 'cursor');
    return { query: accepted(query), after };
  }

  private sign(list: string, organizationId: string, place: string): string {
    const text = `${list}/${organizationId}/${place}`;
    return this.keyring.mac('cursor', text).slice(0, signatureLength);
  }
}

/** A cursor that this list did not return, beside the other problems of the query. */
export function notOfThisList(query: Given<unknown>, parameter: 'cursor' | 'after'): ApiError {
  const problems = query.ok ? [] : query.problems;
  return invalid([...problems, problem(parameter, 'validation_cursor')]);
}
