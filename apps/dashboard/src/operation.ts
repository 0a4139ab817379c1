/**
 * How an operation of the dashboard is declared. One value gives the route, who may call it, the validation of
 * its input, and the types of its handler and of the web app that calls it.
 */
import type { UserRole } from '@pis/domain';
import type { z } from 'zod';

export interface Declared {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below /dashboard/api. Every parameter is a UUID. */
  readonly path: `/${string}`;
  /** The least role that may call it. `anyone`: without a session. */
  readonly role: UserRole | 'anyone';
  readonly query?: z.ZodObject;
  /** Without one, the handler gets the body as it was sent, or the operation takes none. */
  readonly body?: z.ZodType;
  /** Answers with a stream of its own instead of JSON. */
  readonly isStream?: true;
  /** Pages ask for it by themselves: it does not keep a session. */
  readonly isOfPage?: true;
  /** Ends by a limit of its own, not by that of all requests. */
  readonly hasOwnTimeLimit?: true;
  /** A GET that is recorded as an action of its user, which takes a log that is whole. Other methods need no word. */
  readonly isRecorded?: true;
  /** Served in the sandbox alone. */
  readonly sandboxOnly?: true;
}

/** Exists in types only. */
declare const answered: unique symbol;

export interface Answering<Data> {
  readonly [answered]?: Data;
}

/** `op<Data>()({...})`: an operation whose answer is `{ data: Data, meta }`. */
export function op<Data>() {
  return <const Operation extends Declared>(declared: Operation): Operation & Answering<Data> =>
    declared;
}

export type DataOf<Operation> = Operation extends Answering<infer Data> ? Data : never;
export type QueryOf<Operation> = Operation extends { readonly query: infer Query extends z.ZodType }
  ? z.output<Query>
  : undefined;
export type BodyOf<Operation> = Operation extends { readonly body: infer Body extends z.ZodType }
  ? z.output<Body>
  : unknown;
/** What a caller may send. */
export type QueryInOf<Operation> = Operation extends {
  readonly query: infer Query extends z.ZodType;
}
  ? z.input<Query>
  : undefined;
export type BodyInOf<Operation> = Operation extends { readonly body: infer Body extends z.ZodType }
  ? z.input<Body>
  : undefined;

type Parameters<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Parameters<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
/** The IDs in the path, by their names. */
export type IdsOf<Operation> = Operation extends { readonly path: infer Path }
  ? { readonly [Name in Parameters<Path>]: string }
  : never;
