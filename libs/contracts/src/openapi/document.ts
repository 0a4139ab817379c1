/**
 * The OpenAPI 3.1 document of the API, made from the schemas that the gateway validates with and the
 * table of operations. It is served at /openapi.json and kept in docs/openapi.json.
 */
import { z } from 'zod';
import { uuid } from '../fields.js';
import { errorComponents, errorExamples, errorResponses, header, ofRateLimit } from './errors.js';
import * as examples from './examples.js';
import { description, tags } from './introduction.js';
import {
  type AnswerDeclaration,
  idempotencyKey,
  type OperationDeclaration,
} from '../operations/operation.js';
import { operations } from '../operations/operations.js';
import { pageMetaSchema } from '../responses.js';
import { type Json, nameOf, ref, schemaComponents, schemaOfValue } from './schemas.js';
import { webhookNotifications } from './notifications.js';

export interface OpenApiOptions {
  /** Base of the API's addresses; the server that the document comes from, when absent. */
  readonly publicUrl?: string | undefined;
  /** Whether the operations of the sandbox are there. */
  readonly sandbox: boolean;
}

/** Of the API, not of this software. */
const apiVersion = '1.0.0';

export function openApiDocument({ publicUrl, sandbox }: OpenApiOptions): Json {
  const served = operations.filter(({ sandboxOnly }) => sandbox || sandboxOnly !== true);
  const isServed = new Set(served.map(({ operationId }) => operationId));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Payment Initiation Service',
      version: apiVersion,
      summary: 'Moves money over bank rails between an originator and a contact.',
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl?.replace(/\/+$/, '') ?? '/' }],
    security: [{ apiKey: [] }],
    tags: tags.filter(({ name }) => sandbox || name !== 'Sandbox'),
    paths: pathsOf(served, (id) => isServed.has(id)),
    webhooks: webhookNotifications(),
    components: {
      schemas: schemaComponents((name) => sandbox || !ofSandbox.has(name)),
      responses: errorComponents(served.map(({ errors }) => errors)),
      parameters: { IdempotencyKey: idempotencyKeyParameter, ...fileParameters },
      headers,
      examples: errorExamples(),
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key: `pis_test_…` in the sandbox, `pis_live_…` in production. A `full_access` key allows everything, a `read_only` key allows GET and the evaluation of rails, a `webhook_admin` key allows /v1/webhooks and below.',
        },
      },
    },
  };
}

/** Schemas that no other operation needs. */
const ofSandbox = new Set<string | undefined>(
  operations
    .filter(({ sandboxOnly }) => sandboxOnly)
    .map(({ body }) => (body === undefined ? undefined : nameOf(body))),
);

type IsServed = (operationId: string) => boolean;

function pathsOf(served: readonly OperationDeclaration[], isServed: IsServed): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of served)
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = operationObject(
      operation,
      isServed,
    );
  return paths;
}

function operationObject(operation: OperationDeclaration, isServed: IsServed): Json {
  const { operationId, tag, summary, description, body, examples: bodies, errors } = operation;
  const parameters = parametersOf(operation);
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !body.safeParse({}).success,
            content: json(ref(nameOf(body)), bodies ?? {}),
          },
        }),
    responses: { ...answersOf(operation, isServed), ...errorResponses(errors) },
  };
}

function answersOf(operation: OperationDeclaration, isServed: IsServed): Json {
  const unchanged = {
    description: 'The file is the one of `If-None-Match`.',
    headers: { ...header('X-Request-Id'), ...ofRateLimit, ...header('ETag') },
  };
  const answers = Object.fromEntries(
    withRanges(operation.answers).map(([status, answer]) => [
      status,
      {
        description: answer.description,
        headers: {
          ...header('X-Request-Id'),
          ...ofRateLimit,
          ...(operation.headers === undefined ? {} : header('Idempotent-Replayed')),
          ...('mediaTypes' in answer ? header('ETag') : {}),
          ...(status === partial ? header('Content-Range') : {}),
        },
        ...contentOf(answer),
        ...linksOf(operation, isServed),
      },
    ]),
  );
  return { ...answers, ...(isFile(operation) ? { 304: unchanged } : {}) };
}

const partial = '206';

/** A file can be asked for in parts. */
function withRanges(
  answers: OperationDeclaration['answers'],
): readonly (readonly [string, AnswerDeclaration])[] {
  return Object.entries(answers).flatMap(([status, answer]) =>
    'mediaTypes' in answer
      ? [[status, answer] as const, [partial, { ...answer, description: 'The range.' }] as const]
      : [[status, answer] as const],
  );
}

function isFile({ answers }: OperationDeclaration): boolean {
  return Object.values(answers).some((answer) => 'mediaTypes' in answer);
}

function linksOf({ links = [] }: OperationDeclaration, isServed: IsServed): Json {
  const offered = links.filter(({ to }) => isServed(to));
  if (offered.length === 0) return {};
  return {
    links: Object.fromEntries(
      offered.map(({ to, parameters, body }) => [
        to,
        {
          operationId: to,
          ...(parameters === undefined ? {} : { parameters }),
          ...(body === undefined ? {} : { requestBody: body }),
        },
      ]),
    ),
  };
}

function parametersOf(operation: OperationDeclaration): readonly Json[] {
  const { ids = [], query, headers: wanted } = operation;
  return [
    ...(wanted === undefined ? [] : [parameterRef('IdempotencyKey')]),
    ...ids.map(({ name, of, example }) => ({
      name,
      in: 'path',
      required: true,
      description: `The id of the ${of}.`,
      schema: schemaOfValue(uuid),
      example,
    })),
    ...Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      required: !z.safeParse(schema, undefined).success,
      description:
        describedParameters[`${operation.operationId}.${name}`] ?? describedParameters[name],
      schema: schemaOfValue(schema),
    })),
    ...(isFile(operation) ? Object.keys(fileParameters).map(parameterRef) : []),
  ];
}

/** Without examples: the reference's request form would send every one of them. */
const describedParameters: Readonly<Record<string, string>> = {
  cursor: 'nextCursor of the previous page. Omit it for the first page.',
  limit: 'Items in a page.',
  status: 'Payments in this status.',
  originatorId: 'Only contacts of this originator.',
  contactId: 'Payments with this contact.',
  direction: 'Payments in this direction.',
  paymentRail: 'Only payments on this rail.',
  externalPaymentId: 'Payments with this label.',
  idempotencyKey: 'The payment that this Idempotency-Key created.',
  createdFrom:
    'Created at or after this time. A date alone, such as 2026-03-01, means the start of that UTC day.',
  createdTo:
    'Created at or before this time. A date alone, such as 2026-03-31, means the end of that UTC day.',
  'getPayment.asOf':
    'The payment as it was at this time, which is not in the future. A date alone means the end of that UTC day. Parties that were erased since are shown as erased.',
  asOf: 'The list as it was at this time, which is not in the future. A date alone means the end of that UTC day. Persons that were erased since are shown as erased. Use the same time for every page.',
  year: 'Statements of this year.',
  eventType: 'Only deliveries of this event type.',
  state: 'Deliveries in this state.',
  paymentId: 'Deliveries of this payment.',
  'getConsistency.from': 'Size of the earlier log.',
  'getConsistency.to': 'Size of the later log: at most that of the newest checkpoint.',
  from: 'Occurred at or after this time. A date alone, such as 2026-03-01, means the start of that UTC day.',
  to: 'Occurred at or before this time. A date alone, such as 2026-03-31, means the end of that UTC day.',
  after:
    'nextCursor of the previous page. Without it, the feed begins with the first event, or with `from`.',
};

const idempotencyKeyParameter: Json = {
  name: idempotencyKey.name,
  in: 'header',
  required: true,
  description:
    'A string of your choice, the same for every attempt at the same payment. It belongs to your organization and never expires.',
  schema: { type: 'string', minLength: 1, maxLength: idempotencyKey.lengthMax },
  example: examples.idempotencyKey,
};

const etagExample = '"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"';

/** Without patterns: HTTP has a server ignore what it does not understand in them, and answer with the whole file. */
const fileParameters: Readonly<Record<string, Json>> = {
  Range: {
    name: 'Range',
    in: 'header',
    required: false,
    description:
      'One range of bytes, to continue a download that broke off. Anything else is ignored, and the whole file is sent.',
    schema: { type: 'string' },
    example: 'bytes=1048576-',
  },
  IfRange: {
    name: 'If-Range',
    in: 'header',
    required: false,
    description:
      'The ETag of the file that the range belongs to. If the file has another one, the whole file is sent.',
    schema: { type: 'string' },
    example: etagExample,
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of the file that you have. If it is still this one, the answer is 304.',
    schema: { type: 'string' },
    example: etagExample,
  },
};

const parameterRef = (name: string): Json => ({ $ref: `#/components/parameters/${name}` });

const headers: Json = {
  ETag: {
    description: 'The SHA-256 of the file, in quotes.',
    schema: { type: 'string', pattern: '^"[0-9a-f]{64}"$' },
  },
  'Content-Range': {
    description: 'The range and the size of the file. Without a range (`*`) in a 416.',
    schema: { type: 'string', pattern: '^bytes ([0-9]+-[0-9]+|[*])/[0-9]+$' },
  },
  'X-Request-Id': {
    description: 'Your own ID if you sent a valid one. Include it in support requests.',
    required: true,
    schema: { type: 'string' },
  },
  'Idempotent-Replayed': {
    description: 'Present if an earlier request with the same key created the payment.',
    schema: { type: 'string', const: 'true' },
  },
  'Retry-After': {
    description: 'Seconds to wait before repeating the request.',
    schema: { type: 'integer', minimum: 0 },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate.',
    schema: { type: 'string', const: 'Bearer' },
  },
  'RateLimit-Policy': {
    description:
      'The limit of the key: `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers-10). This header and the next four are missing if there is no limit.',
    schema: { type: 'string', pattern: '^"default";q=[0-9]+;w=[0-9]+$' },
    example: '"default";q=400;w=2',
  },
  RateLimit: {
    description: '`r` requests are left. More are available in `t` seconds.',
    schema: { type: 'string', pattern: '^"default";r=[0-9]+;t=[0-9]+$' },
    example: '"default";r=399;t=1',
  },
  'RateLimit-Limit': {
    description: '`q` of RateLimit-Policy, for clients of older drafts.',
    schema: { type: 'integer', minimum: 1 },
  },
  'RateLimit-Remaining': {
    description: '`r` of RateLimit, for clients of older drafts.',
    schema: { type: 'integer', minimum: 0 },
  },
  'RateLimit-Reset': {
    description: '`t` of RateLimit, for clients of older drafts.',
    schema: { type: 'integer', minimum: 1 },
  },
};

/** The media type of an answer; its examples in their envelope. */
function contentOf(answer: AnswerDeclaration): Json {
  if ('mediaType' in answer) return { content: { [answer.mediaType]: {} } };
  if ('mediaTypes' in answer)
    return { content: Object.fromEntries(answer.mediaTypes.map((type) => [type, {}])) };
  if (!('data' in answer)) return {};
  const { data: schema, list, examples: data } = answer;
  const meta = {
    timestamp: examples.timestamp,
    ...(list === pageMetaSchema ? { pagination: { limit: 20, nextCursor: examples.cursor } } : {}),
  };
  const record = ref(nameOf(schema));
  const envelope = {
    type: 'object',
    properties: {
      data: list === undefined ? record : { type: 'array', items: record },
      meta: ref(list === undefined ? 'Meta' : nameOf(list)),
    },
    required: ['data', 'meta'],
  };
  const values = Object.entries(data).map(([name, value]) => [name, { data: value, meta }]);
  return { content: json(envelope, Object.fromEntries(values) as Json) };
}

function json(schema: Json, values: Readonly<Record<string, unknown>>): Json {
  return { 'application/json': { schema, examples: examplesOf(values) } };
}

function examplesOf(values: Readonly<Record<string, unknown>>): Json {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}
