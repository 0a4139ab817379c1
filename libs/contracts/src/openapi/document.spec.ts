import { paymentEventTypes } from '@pis/domain';
import { errorCodes } from '../error-codes.js';
import { judgeBy } from '../testing.js';
import { openApiDocument } from './document.js';
import type { Json } from './schemas.js';

/** As a client gets it. */
const written = (options: Parameters<typeof openApiDocument>[0]) =>
  JSON.parse(JSON.stringify(openApiDocument(options))) as Record<string, Json>;

const document = written({ sandbox: true });
const judge = judgeBy(document);

/** Every object in the document, with its path. */
function* objectsIn(value: unknown, path: string): Generator<readonly [string, Json]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [path, value as Json];
  for (const [key, inner] of Object.entries(value)) yield* objectsIn(inner, `${path}/${key}`);
}
const objects = [...objectsIn(document, '#')];

interface Described extends Json {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Json[];
}
const operationsOf = (paths: Json | undefined) =>
  Object.entries(paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(
      ([method, operation]) => [`${method} ${path}`, operation as Described] as const,
    ),
  );
const operations = [...operationsOf(document['paths']), ...operationsOf(document['webhooks'])];

describe('the OpenAPI document', () => {
  it('has version 3.1 and the required parts', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: expect.any(String) as string, version: expect.any(String) as string },
      security: [{ apiKey: [] }],
      components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
    });
  });

  it('has no broken reference and no unused component', () => {
    const references = objects.flatMap(([, { $ref }]) => (typeof $ref === 'string' ? [$ref] : []));
    expect(references.length).toBeGreaterThan(100);
    for (const reference of references) expect(judge.resolve(reference)).toBeDefined();

    const { securitySchemes: _, ...components } = document['components'] ?? {};
    const parts = Object.entries(components).flatMap(([kind, named]) =>
      Object.keys(named as Json).map((name) => `#/components/${kind}/${name}`),
    );
    expect(parts.filter((part) => !references.includes(part))).toEqual([]);
  });

  it('gives each operation a name of its own, a tag that is described and a summary', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
    const tags = (document['tags'] as unknown as { name: string }[]).map(({ name }) => name);
    const used = operations.flatMap(([, operation]) => operation.tags);
    expect([...new Set(used)].toSorted()).toEqual(tags.toSorted());
    for (const [, { summary }] of operations) expect(summary).toEqual(expect.any(String));
  });

  it('declares exactly the parameters that the path of an operation has', () => {
    for (const [name, { parameters = [] }] of operationsOf(document['paths'])) {
      const declared = parameters.filter((one) => one['in'] === 'path').map((one) => one['name']);
      expect([name, declared]).toEqual([
        name,
        [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter),
      ]);
    }
  });

  it('documents every error code, and a webhook for every event type', () => {
    const { examples } = document['components'] as { examples: Json };
    expect(Object.keys(examples).toSorted()).toEqual([...errorCodes].toSorted());
    expect(Object.keys(document['webhooks'] ?? {})).toEqual([
      ...paymentEventTypes,
      'statement.generated',
      'TEST',
    ]);
  });

  it('links only to existing operations and parameters', () => {
    for (const sandbox of [true, false]) {
      const served = operationsOf(written({ sandbox })['paths']);
      const links = served.flatMap(([name, { responses }]) =>
        Object.values(responses as Record<string, Json>).flatMap(({ links: those = {} }) =>
          Object.values(those as Record<string, Json>).map((link) => [name, link] as const),
        ),
      );
      expect(links.length).toBeGreaterThan(15);
      for (const [name, link] of links) {
        const target = served.find(([, { operationId }]) => operationId === link['operationId']);
        expect([name, link, target]).not.toEqual([name, link, undefined]);
        const known = (target?.[1].parameters ?? []).map((parameter) => parameter['name']);
        expect(known).toEqual(expect.arrayContaining(Object.keys(link['parameters'] ?? {})));
      }
    }
  });

  it('describes each parameter', () => {
    const parameters = operations.flatMap(([, operation]) => operation.parameters ?? []);
    const silent = parameters.filter((one) => one['$ref'] === undefined && !one['description']);
    expect(silent).toEqual([]);
  });

  it('says what a file can be asked for: a range, and only if it has changed', () => {
    const files = operations.filter(([, { responses }]) => '206' in (responses as Json));
    expect(files.map(([, { operationId }]) => operationId)).toEqual([
      'getStatementPdf',
      'getExportFile',
    ]);
    for (const [, { parameters = [], responses }] of files) {
      const asked = parameters.flatMap(({ $ref }) => ($ref === undefined ? [] : [$ref]));
      const names = asked.map((reference) => judge.resolve(String(reference))?.['name']);
      expect(names).toEqual(['Range', 'If-Range', 'If-None-Match']);
      const { 304: unchanged, 416: outside } = responses as Record<string, Json>;
      expect(unchanged).toMatchObject({ headers: { ETag: expect.anything() as unknown } });
      expect(unchanged).not.toHaveProperty('content');
      expect(judge.resolve(String(outside?.['$ref']))).toMatchObject({
        headers: { 'Content-Range': expect.anything() as unknown },
      });
    }
  });

  it('asks for an Idempotency-Key to create a payment, and nowhere else', () => {
    const asking = operations.filter(([, { parameters = [] }]) =>
      parameters.some(({ $ref }) => $ref === '#/components/parameters/IdempotencyKey'),
    );
    expect(asking.map(([name]) => name)).toEqual(['post /v1/payments/']);
  });
});

describe('the examples', () => {
  const withExamples = objects.filter(
    ([path, { schema, example, examples }]) =>
      schema !== undefined &&
      (example !== undefined || examples !== undefined) &&
      !path.includes('/examples/'),
  );

  it('exist for every JSON body and answer', () => {
    const media = objects.filter(([path]) => path.endsWith('/application/json'));
    expect(media.length).toBeGreaterThan(40);
    for (const [path, { examples }] of media)
      expect([path, Object.keys(examples ?? {}).length]).not.toEqual([path, 0]);
  });

  it('are valid, and have no field that the schema does not name', () => {
    expect(withExamples.length).toBeGreaterThan(50);
    for (const [path, { schema, example, examples = {} }] of withExamples) {
      const values = Object.values(examples as Record<string, Json>).map((one) =>
        typeof one['$ref'] === 'string' ? judge.resolve(one['$ref'])['value'] : one['value'],
      );
      for (const value of example === undefined ? values : [example, ...values])
        expect([path, judge.exactProblems(schema, value)]).toEqual([path, []]);
    }
  });
});

describe('the schemas of requests', () => {
  const problems = (name: string, value: unknown) =>
    judge.problems({ $ref: `#/components/schemas/${name}` }, value);
  const contact = { originatorId: '7d0c5b7e-3f5a-4c6e-9b0a-2f6f0c1d2e3f', email: 'a@example.com' };

  it('define which names a person and a company need', () => {
    const person = { ...contact, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'L' };
    expect(problems('ContactCreateRequest', person)).toEqual([]);
    expect(problems('ContactCreateRequest', { ...person, firstName: null })).not.toEqual([]);
    expect(problems('ContactCreateRequest', { ...person, entityType: 'BUSINESS' })).not.toEqual([]);
  });

  it('define what an address in the US needs', () => {
    const address = { addressLine1: '1', city: 'Bern', state: 'Bern', postalCode: '3011' };
    expect(problems('LegalAddress', { ...address, countryCode: 'CH' })).toEqual([]);
    expect(problems('LegalAddress', { ...address, countryCode: 'US' })).not.toEqual([]);
    const inTheUs = { ...address, state: 'NY', postalCode: '10001', countryCode: 'US' };
    expect(problems('LegalAddress', inTheUs)).toEqual([]);
  });

  it('name the limits, the formats and the values that are allowed', () => {
    const { schemas } = document['components'] as { schemas: Record<string, Json> };
    expect(schemas['PaymentCreateRequest']).toMatchObject({
      required: ['originatorId', 'contactId', 'paymentAmount', 'direction'],
      properties: {
        paymentAmount: { type: 'integer', minimum: 1, maximum: 99_999_999_999 },
        paymentNote: { type: ['string', 'null'], maxLength: 500 },
        direction: { enum: ['INBOUND', 'OUTBOUND'] },
      },
    });
    const { get } = document['paths']?.['/v1/payments/'] as { get: { parameters: Json[] } };
    expect(get.parameters.find(({ name }) => name === 'limit')).toMatchObject({
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    });
  });
});

describe('where it is served', () => {
  it('names the public address, or otherwise the server it came from', () => {
    expect(document['servers']).toEqual([{ url: '/' }]);
    const { servers } = written({ sandbox: true, publicUrl: 'https://pay.example.com/pis/' });
    expect(servers).toEqual([{ url: 'https://pay.example.com/pis' }]);
  });

  it('leaves the sandbox out in production', () => {
    const production = written({ sandbox: false });
    expect(JSON.stringify(production)).not.toContain('simulatePayment');
    expect(Object.keys(production['paths'] ?? {})).toContain('/v1/payments/');
    const { schemas } = production['components'] as { schemas: Json };
    expect(Object.keys(schemas)).not.toContain('SimulateRequest');
  });
});
