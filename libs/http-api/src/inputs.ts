/**
 * The inputs of a declared operation, as parameters of its handler. They are checked in a fixed order,
 * whatever the order of the parameters: ids in the path, Idempotency-Key, then query or body.
 */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type OperationDeclaration, validate } from '@pis/contracts';
import type { FastifyRequest } from 'fastify';
import type { Caller as ApiCaller } from './authentication.js';
import { callerOf } from './http.js';
import { idempotencyKeyIn } from './idempotency-key.js';
import { accepted, bodyOf, contextOf, type Given, idIn } from './requests.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until a handler's first parameter is read. */
    checked: Checked | null;
  }
}

interface Checked {
  readonly ids: Readonly<Record<string, string>>;
  /** Empty for an operation that takes none. */
  readonly idempotencyKey: string;
}

/** The caller of the request. */
export const Caller = input((request) => callerOf(request));
export type Caller = ApiCaller;

/** Who and what causes the events of the request. */
export const Context = input((request) => contextOf(request));

/** An id in the path, by its name there. @throws ApiError VALIDATION_ERROR */
export const Id: (name: string) => ParameterDecorator = input((request, name) => {
  const id = checked(request).ids[String(name)];
  if (id === undefined) throw new Error(`${String(name)} is not in the path of the operation`);
  return id;
});

/** @throws ApiError IDEMPOTENCY_KEY_REQUIRED */
export const IdempotencyKey = input((request) => checked(request).idempotencyKey);

/** The body after validation; without a body, that of an empty object. @throws ApiError VALIDATION_ERROR */
export const Body = input((request) => {
  checked(request);
  const { body: schema } = operationOf(request);
  if (schema === undefined) throw new Error(`${request.url} takes no body`);
  return accepted(validate(schema, bodyOf(request)));
});
/** For a handler that reports more than the schema knows, for instance what depends on the record. */
export const UncheckedBody = input((request) => {
  checked(request);
  return bodyOf(request);
});

/** The query after validation. @throws ApiError VALIDATION_ERROR */
export const Query = input((request) => accepted(givenQuery(request)));
export const GivenQuery = input((request) => givenQuery(request));

function input(read: (request: FastifyRequest, name: unknown) => unknown) {
  return createParamDecorator((name: unknown, context: ExecutionContext) =>
    read(context.switchToHttp().getRequest<FastifyRequest>(), name),
  );
}

function givenQuery(request: FastifyRequest): Given<unknown> {
  checked(request);
  const { query: schema } = operationOf(request);
  if (schema === undefined) throw new Error(`${request.url} takes no query`);
  const given = request.query;
  return { ...validate<unknown>(schema, given), given };
}

function checked(request: FastifyRequest): Checked {
  return (request.checked ??= check(request));
}

function check(request: FastifyRequest): Checked {
  const { ids = [], headers } = operationOf(request);
  return {
    ids: Object.fromEntries(ids.map(({ name }) => [name, idIn(request, name)])),
    idempotencyKey:
      headers === undefined
        ? ''
        : idempotencyKeyIn(request.headers['idempotency-key'], request.raw.rawHeaders),
  };
}

function operationOf({ operation, url }: FastifyRequest): OperationDeclaration {
  if (operation === null) throw new Error(`${url} is not declared by an operation`);
  return operation;
}
