/**
 * Cursors of lists: the place where a page ended, signed, and bound to the organization and the list. They
 * are opaque to clients. A cursor that was altered or belongs to another organization is refused.
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

  /** For a list with places of another type than ListCursor. */
  encodePlace(list: string, organizationId: string, place: string): string {
    const signed = `${place}/${this.sign(list, organizationId, place)}`;
    return Buffer.from(signed).toString('base64url');
  }

  /** Null if this list did not return the cursor to this organization. */
  decode(list: string, organizationId: string, cursor: string): ListCursor | null {
    const place = this.decodePlace(list, organizationId, cursor);
    const [createdAt, id, ...rest] = place?.split('/') ?? [];
    return createdAt === undefined || id === undefined || rest.length > 0
      ? null
      : { createdAt, id };
  }

  /** Null if this list did not return the cursor to this organization. */
  decodePlace(list: string, organizationId: string, cursor: string): string | null {
    if (cursor.length > lengthMax || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
    const bytes = Buffer.from(cursor, 'base64url');
    // Decoding drops bits of the last character. Comparing the encodings leaves one spelling for each place.
    if (bytes.toString('base64url') !== cursor) return null;
    const [, place, signature = ''] = /^(.*)\/([^/]*)$/s.exec(bytes.toString('utf8')) ?? [];
    if (place === undefined) return null;
    const expected = Buffer.from(this.sign(list, organizationId, place));
    const given = Buffer.from(signature);
    const genuine = given.length === expected.length && timingSafeEqual(given, expected);
    return genuine ? place : null;
  }

  /**
   * A validated query and the place where its page begins. All problems are reported together.
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

  /** As `page`, of a list that can also be read as of a time. A cursor belongs to one time, or to the present. */
  pageAsOf<Query extends { readonly asOf?: string | undefined }>(
    list: string,
    organizationId: string,
    query: Given<Query>,
  ): { readonly list: string; readonly query: Query; readonly after: ListCursor | undefined } {
    const { asOf } = query.given as { readonly asOf?: unknown };
    // Without a valid time nobody can say whose cursor it is.
    if (asOf !== undefined) accepted(query);
    const name =
      query.ok && query.value.asOf !== undefined ? `${list} as of ${query.value.asOf}` : list;
    return { list: name, ...this.page(name, organizationId, query) };
  }

  private sign(list: string, organizationId: string, place: string): string {
    const text = `${list}/${organizationId}/${place}`;
    return this.keyring.mac('cursor', text).slice(0, signatureLength);
  }
}

/** The problems of the query, and that of a cursor that this list did not return. */
export function notOfThisList(query: Given<unknown>, parameter: 'cursor' | 'after'): ApiError {
  const problems = query.ok ? [] : query.problems;
  return invalid([...problems, problem(parameter, 'validation_cursor')]);
}
