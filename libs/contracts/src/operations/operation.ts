/**
 * How an operation of the API is declared. One value gives the route, who may call it, the validation of
 * its input, the types of its handler (`@Operation` in @pis/http-api) and its entry in the OpenAPI document.
 */
import type { ApiKeyType } from '@pis/domain';
import type { z } from 'zod';
import type { ErrorCode } from '../error-codes.js';
import { idempotencyKeyLengthMax } from '../payment-requests.js';
import type { listMetaSchema, metaSchema, pageMetaSchema } from '../responses.js';

export type Tag =
  | 'Originators'
  | 'Contacts'
  | 'Payments'
  | 'Rails'
  | 'Webhooks'
  | 'Events'
  | 'Statements'
  | 'Exports'
  | 'Audit'
  | 'Sandbox';

/** By name. */
type Examples = Readonly<Record<string, unknown>>;

/** An id in the path. Errors name it as the path does. */
export interface PathId {
  readonly name: string;
  /** What it is the id of. */
  readonly of: string;
  readonly example: string;
}

export interface OperationDeclaration {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With the trailing slash that the specification gives it; each path works with and without. */
  readonly path: `/v1/${string}`;
  /** The types of keys that may call it. */
  readonly access: readonly [ApiKeyType, ...ApiKeyType[]];
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** The ids in the path, in their order. */
  readonly ids?: readonly PathId[];
  readonly query?: z.ZodObject;
  readonly headers?: typeof idempotencyKey;
  readonly body?: z.ZodType;
  /** Of the body. */
  readonly examples?: Examples;
  /** By status: exactly one. */
  readonly answers: Readonly<Record<number, AnswerDeclaration>>;
  /** Operations that can use its answer next. */
  readonly links?: readonly Link[];
  readonly errors: readonly ErrorCode[];
  /** Served in the sandbox alone. */
  readonly sandboxOnly?: true;
}

export type AnswerDeclaration =
  | { readonly description: string }
  | { readonly description: string; readonly mediaType: 'application/pdf' }
  /** A file of one of these types, as a whole or a range of it. */
  | { readonly description: string; readonly mediaTypes: readonly string[] }
  | {
      readonly description: string;
      /** Of `data`. */
      readonly data: z.ZodType;
      /** Present when `data` is an array: the `meta` of the answer, which shows whether it is the whole list. */
      readonly list?: typeof metaSchema | typeof listMetaSchema | typeof pageMetaSchema;
      /** Of `data`. */
      readonly examples: Examples;
    };

export function operation<const Declared extends OperationDeclaration>(
  declared: Declared,
): Declared {
  return declared;
}

/** What an operation's handler gets: the input after validation. */
export type BodyOf<Declared> = Declared extends { readonly body: infer Body extends z.ZodType }
  ? z.output<Body>
  : never;
export type QueryOf<Declared> = Declared extends { readonly query: infer Query extends z.ZodObject }
  ? z.output<Query>
  : never;

/** `data` of its answer; never for an operation whose answer has none. */
export type DataOf<Declared> = Declared extends {
  readonly answers: Readonly<Record<number, infer Answer>>;
}
  ? Answer extends { readonly data: infer Data extends z.ZodType }
    ? Answer extends { readonly list: unknown }
      ? readonly ReadonlyDeep<z.output<Data>>[]
      : ReadonlyDeep<z.output<Data>>
    : never
  : never;
type ReadonlyDeep<Value> = Value extends readonly (infer Item)[]
  ? readonly ReadonlyDeep<Item>[]
  : Value extends object
    ? { readonly [Field in keyof Value]: ReadonlyDeep<Value[Field]> }
    : Value;

/** The header that makes a creation repeatable. */
export const idempotencyKey = { name: 'Idempotency-Key', lengthMax: idempotencyKeyLengthMax };

/** Which keys may read, and which may write. */
export const readers = ['full_access', 'read_only'] as const;
export const writers = ['full_access'] as const;
export const webhookReaders = ['full_access', 'read_only', 'webhook_admin'] as const;
export const webhookWriters = ['full_access', 'webhook_admin'] as const;

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

/** The errors that any request may get. */
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
