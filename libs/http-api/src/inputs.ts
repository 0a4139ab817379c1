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
export const Id: (name: string) => ParameterDecorator = declaredInput('id', (request, name) => {
  const id = checked(request).ids[String(name)];
  if (id === undefined) throw new Error(`${String(name)} is not in the path of the operation`);
  return id;
});

/** @throws ApiError IDEMPOTENCY_KEY_REQUIRED */
export const IdempotencyKey = declaredInput('header', (request) => checked(request).idempotencyKey);

/** The body after validation; without a body, that of an empty object. @throws ApiError VALIDATION_ERROR */
export const Body = declaredInput('body', (request) => {
  checked(request);
  const { body: schema } = operationOf(request);
  if (schema === undefined) throw new Error('the operation takes no body');
  return accepted(validate(schema, bodyOf(request)));
});
/** For a handler that reports more than the schema knows, for instance what depends on the record. */
export const UncheckedBody = declaredInput('body', (request) => {
  checked(request);
  return bodyOf(request);
});

/** The query after validation. @throws ApiError VALIDATION_ERROR */
export const Query = declaredInput('query', (request) => accepted(givenQuery(request)));
export const GivenQuery = declaredInput('query', (request) => givenQuery(request));

/** Which declared inputs the methods of a class take: filled while the class is defined. */
const taken = new WeakMap<object, Map<string | symbol, Set<string>>>();

/**
 * What a handler takes that its operation does not declare, and the other way round: an input that no
 * handler takes would not be checked.
 */
export function inputsAmiss(
  { ids = [], headers, query, body }: OperationDeclaration,
  target: object,
  method: string | symbol,
): readonly string[] {
  const declared = new Set([
    ...ids.map(({ name }) => `id ${name}`),
    ...(headers === undefined ? [] : ['header']),
    ...(query === undefined ? [] : ['query']),
    ...(body === undefined ? [] : ['body']),
  ]);
  const found = taken.get(target)?.get(method) ?? new Set<string>();
  return [
    ...[...declared].filter((one) => !found.has(one)),
    ...[...found].filter((one) => !declared.has(one)),
  ];
}

function declaredInput(
  kind: 'id' | 'header' | 'query' | 'body',
  read: (request: FastifyRequest, name: unknown) => unknown,
) {
  const decorator = input(read);
  return (name?: string): ParameterDecorator =>
    (target, method, index) => {
      const methods = taken.get(target) ?? new Map<string | symbol, Set<string>>();
      taken.set(target, methods);
      const inputs = methods.get(method ?? '') ?? new Set<string>();
      methods.set(method ?? '', inputs.add(name === undefined ? kind : `${kind} ${name}`));
      decorator(name)(target, method, index);
    };
}

function input(read: (request: FastifyRequest, name: unknown) => unknown) {
  return createParamDecorator((name: unknown, context: ExecutionContext) =>
    read(context.switchToHttp().getRequest<FastifyRequest>(), name),
  );
}

function givenQuery(request: FastifyRequest): Given<unknown> {
  checked(request);
  const { query: schema } = operationOf(request);
  if (schema === undefined) throw new Error('the operation takes no query');
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
