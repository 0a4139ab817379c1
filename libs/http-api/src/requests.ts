/** Helpers of handlers: validate a request, name its actor, build the envelope. */
import { idSchema, type Problem, validate, type Validated } from '@pis/contracts';
import type { AddressOwner, CommandContext } from '@pis/event-store';
import { currentTraceparent } from '@pis/service-kit';
import type { FastifyRequest } from 'fastify';
import { addressOf } from './client-address.js';
import { invalid } from './errors.js';
import { callerOf } from './http.js';

export interface Answer<Data> {
  readonly data: Data;
  readonly meta: {
    /** ISO 8601 with milliseconds. */
    readonly timestamp: string;
    readonly pagination?: Pagination;
  };
}

interface Pagination {
  readonly limit: number;
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** A query and its validation, for a handler that reports further problems with it. */
export type Given<Value> = Validated<Value> & { readonly given: unknown };

/** @param pagination of a page of a list */
export function answer<Data>(data: Data, pagination?: Pagination): Answer<Data> {
  return { data, meta: { timestamp: now(), ...(pagination && { pagination }) } };
}

export function now(): string {
  return new Date().toISOString();
}

/** @throws ApiError VALIDATION_ERROR with all problems */
export function accepted<Value>(result: Validated<Value>): Value {
  if (!result.ok) throw invalid(result.problems);
  return result.value;
}

/** The body, or an empty object if there is none, so that each missing field is reported. */
export function bodyOf(request: FastifyRequest): unknown {
  return request.body === undefined ? {} : request.body;
}

/** An ID in the path, by its name. @throws ApiError VALIDATION_ERROR */
export function idIn(request: FastifyRequest, field: string): string {
  return accepted(validId(request, field));
}

/** An ID in the path, by its name, for a caller that reports further problems with the request. */
export function validId(request: FastifyRequest, field: string): Validated<string> {
  const parameters = request.params as Readonly<Record<string, string>>;
  const result = validate(idSchema, parameters[field]);
  if (result.ok) return result;
  const named = (found: Problem) => ({ ...found, field, message: `${field} ${uuid}` });
  return { ok: false, problems: result.problems.map(named) };
}

const uuid = 'must be a UUID';
/** W3C Trace Context, version 00. */
const traceparentFormat = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The actor and cause for the events of this request. */
export function contextOf(request: FastifyRequest): CommandContext {
  const { apiKeyId, organizationId } = callerOf(request);
  return contextBy(`apiKey:${apiKeyId}`, request, `organization:${organizationId}`);
}

/**
 * The cause for the events of this request, by another actor than an API key.
 * @param owner under whose key the address of the caller is sealed; null to record no address
 */
export function contextBy(
  actor: string,
  request: FastifyRequest,
  owner: AddressOwner | null,
): CommandContext {
  // Events keep it forever, and a stranger on a page may not mark them.
  const isPage = request.routeOptions.config.pageHeaders !== undefined;
  const traceparent = isPage ? undefined : request.headers.traceparent;
  const given =
    typeof traceparent === 'string' && traceparentFormat.test(traceparent) ? traceparent : null;
  return {
    actor,
    requestId: request.id,
    correlationId: request.id,
    causationId: null,
    traceparent: currentTraceparent() ?? given,
    ...(owner === null ? {} : { caller: { owner, address: addressOf(request) } }),
  };
}
