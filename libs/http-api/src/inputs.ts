/**
 * The inputs of a declared operation, as parameters of its handler. They are always checked in this
 * order: Idempotency-Key, then IDs in the path, then query or body. The problems of the last two are reported
 * together.
 */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type OperationDeclaration, type Problem, validate, type Validated } from '@pis/contracts';
import type { FastifyRequest } from 'fastify';
import type { Caller as ApiCaller } from './authentication.js';
import { invalid } from './errors.js';
import { callerOf } from './http.js';
import { idempotencyKeyIn } from './idempotency-key.js';
import { accepted, bodyOf, contextOf, type Given, validId } from './requests.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until the first parameter of the handler is read. */
    checked: Checked | null;
  }
}

interface Checked {
  readonly ids: Readonly<Record<string, string>>;
  /** Empty if the operation has none. */
  readonly idempotencyKey: string;
}

/** The caller of the request. */
export const Caller = input((request) => callerOf(request));
export type Caller = ApiCaller;

/** The actor and cause for the events of the request. */
export const Context = input((request) => contextOf(request));

/** An ID in the path, by its name. @throws ApiError VALIDATION_ERROR */
export const Id: (name: string) => ParameterDecorator = declaredInput('id', (request, name) => {
  const id = checked(request).ids[String(name)];
  if (id === undefined) throw new Error(`${String(name)} is not in the path of the operation`);
  return id;
});

/** @throws ApiError IDEMPOTENCY_KEY_REQUIRED */
export const IdempotencyKey = declaredInput('header', (request) => checked(request).idempotencyKey);

/** The validated body. A missing body counts as an empty object. @throws ApiError VALIDATION_ERROR */
export const Body = declaredInput('body', (request) => {
  checked(request);
  const { body: schema } = operationOf(request);
  if (schema === undefined) throw new Error('the operation takes no body');
  return accepted(validate(schema, bodyOf(request)));
});
/** The body as sent, for a handler with checks beyond the schema, such as checks against the record. */
export const UncheckedBody = declaredInput('body', (request) => {
  checked(request);
  return bodyOf(request);
});

/** The validated query. @throws ApiError VALIDATION_ERROR */
export const Query = declaredInput('query', (request) => accepted(givenQuery(request)));
export const GivenQuery = declaredInput('query', (request) => givenQuery(request));

/** The declared inputs that the methods of a class take. Filled while the class is defined. */
const taken = new WeakMap<object, Map<string | symbol, Set<string>>>();

/**
 * The differences between the inputs of a handler and those of its operation, in both directions: an input
 * that the handler does not take would not be checked.
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
  const operation = operationOf(request);
  const { ids = [], headers } = operation;
  const idempotencyKey =
    headers === undefined
      ? ''
      : idempotencyKeyIn(request.headers['idempotency-key'], request.raw.rawHeaders);
  const results = ids.map(({ name }) => ({ name, result: validId(request, name) }));
  const problems = results.flatMap(({ result }) => problemsOf(result));
  // A handler that is not reached cannot report the rest: rule validation-2.
  if (problems.length > 0) throw invalid([...problems, ...otherProblems(operation, request)]);
  return {
    ids: Object.fromEntries(results.map(({ name, result }) => [name, accepted(result)])),
    idempotencyKey,
  };
}

/** What is wrong with the query and the body, as far as their schemas tell. */
function otherProblems(
  { query, body }: OperationDeclaration,
  request: FastifyRequest,
): readonly Problem[] {
  return [
    ...(query === undefined ? [] : problemsOf(validate<unknown>(query, request.query))),
    ...(body === undefined ? [] : problemsOf(validate<unknown>(body, bodyOf(request)))),
  ];
}

function problemsOf(result: Validated<unknown>): readonly Problem[] {
  return result.ok ? [] : result.problems;
}

function operationOf({ operation, url }: FastifyRequest): OperationDeclaration {
  if (operation === null) throw new Error(`${url} is not declared by an operation`);
  return operation;
}
