/** How an operation of the API is described, and the errors that kinds of operations have in common. */
import type { z } from 'zod';
import type { ErrorCode } from '../error-codes.js';
import type { SchemaName } from './schemas.js';

export type Tag =
  | 'Originators'
  | 'Contacts'
  | 'Payments'
  | 'Webhooks'
  | 'Events'
  | 'Statements'
  | 'Sandbox';
type Method = 'get' | 'post' | 'patch' | 'delete';

/** By name. */
type Examples = Readonly<Record<string, unknown>>;

export interface PathId {
  readonly name: string;
  /** What it is the id of. */
  readonly of: string;
  readonly example: string;
}

export interface Operation {
  readonly method: Method;
  /** With the trailing slash that the specification gives it; each path works with and without. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** The id in the path, or the ids in their order. */
  readonly id?: PathId | readonly PathId[];
  readonly query?: Readonly<Record<string, z.ZodType>>;
  readonly idempotent?: true;
  readonly body?: {
    readonly schema: SchemaName;
    readonly required: boolean;
    readonly examples: Examples;
  };
  readonly success: Success;
  /** What its answer is good for next. */
  readonly links?: readonly Link[];
  readonly errors: readonly ErrorCode[];
  /** Served in the sandbox alone. */
  readonly sandboxOnly?: true;
}

/** How the answer of an operation feeds another one (OpenAPI, "Link Object"). */
export interface Link {
  /** An operationId. */
  readonly to: string;
  /** Runtime expressions by the name of the parameter. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Fields of its body, as runtime expressions; the others are the caller's to choose. */
  readonly body?: Readonly<Record<string, string>>;
}

/** A field of the record in the answer. */
export function answered(field: string): string {
  return `$response.body#/data/${field}`;
}

/** A field of the first record of the list in the answer. */
export function first(field: string): string {
  return answered(`0/${field}`);
}

export type Success =
  | { readonly status: 204; readonly description: string }
  | { readonly status: 200; readonly description: string; readonly mediaType: 'application/pdf' }
  | {
      readonly status: 200 | 201 | 202;
      readonly description: string;
      /** Of `data`. */
      readonly schema: SchemaName;
      /** `data` is an array; `meta` says whether it is the whole list. */
      readonly list?: 'Meta' | 'ListMeta' | 'PageMeta';
      /** Of `data`. */
      readonly examples: Examples;
    };

/** What any request may be answered. */
export const onAny: readonly ErrorCode[] = [
  'UNAUTHORIZED',
  'FORBIDDEN',
  'REQUEST_TIMEOUT',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
];
export const onQuery: readonly ErrorCode[] = ['VALIDATION_ERROR', ...onAny];
export const onRecord: readonly ErrorCode[] = ['VALIDATION_ERROR', 'NOT_FOUND', ...onAny];
export const onBody: readonly ErrorCode[] = [
  'VALIDATION_ERROR',
  'INVALID_JSON',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  ...onAny,
];
