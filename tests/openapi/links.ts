/** Follows the links of the document, each once, with what real answers hold. */
import { randomUUID } from 'node:crypto';
import type { Api, ApiResponse } from '../support/api.js';

type Values = Readonly<Record<string, unknown>>;

export interface LinkedDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, LinkedOperation>>>>;
}
interface LinkedOperation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name?: string; readonly example?: unknown }[];
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': {
        readonly examples: Readonly<Record<string, { readonly value: Values }>>;
      };
    };
  };
  readonly responses: Readonly<Record<string, { readonly links?: Readonly<Record<string, Link>> }>>;
}
interface Link {
  readonly operationId: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly requestBody?: Readonly<Record<string, string>>;
}
interface Operation extends LinkedOperation {
  readonly method: string;
  readonly path: string;
}
interface Request {
  readonly body: Values | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where each link led: `createContact → updateContact: 200`. `records` replace the ids of the examples. */
export async function followLinks(
  document: LinkedDocument,
  api: Api,
  records: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  );
  // First what changes a record, as long as no link has.
  const operations = all.toSorted(
    (a, b) => Number(b.method === 'post') - Number(a.method === 'post'),
  );
  const named = (id: string): Operation => {
    const found = operations.find(({ operationId }) => operationId === id);
    if (found === undefined) throw new Error(`there is no operation ${id}`);
    return found;
  };
  const example = (value: unknown): unknown => JSON.parse(withRecords(value, records));
  const send = (operation: Operation, parameters: Values, body: Values) =>
    request(api, operation, {
      parameters: { ...(example(pathExamples(operation)) as Values), ...parameters },
      body: bodyExample(operation) && { ...(example(bodyExample(operation)) as Values), ...body },
    });

  // One that the list begins with, to be deleted through it.
  await send(named('createWebhook'), {}, {});
  const led: string[] = [];
  for (const operation of operations) {
    const links = Object.values(operation.responses).flatMap(({ links: those = {} }) =>
      Object.values(those),
    );
    if (links.length === 0) continue;
    const { sent, answer } = await send(operation, {}, {});
    for (const { operationId, parameters = {}, requestBody = {} } of links) {
      const values = (of: Readonly<Record<string, string>>): Values =>
        Object.fromEntries(
          Object.entries(of).map(([name, text]) => [name, evaluate(text, sent, answer)]),
        );
      const { answer: next } = await send(
        named(operationId),
        values(parameters),
        values(requestBody),
      );
      led.push(`${operation.operationId} → ${operationId}: ${next.status}`);
    }
  }
  return led;
}

/** As JSON, the ids of the examples replaced. */
function withRecords(value: unknown, records: Readonly<Record<string, string>>): string {
  return Object.entries(records).reduce(
    (text, [id, record]) => text.replaceAll(id, record),
    JSON.stringify(value),
  );
}

function pathExamples({ parameters = [] }: Operation): Values {
  return Object.fromEntries(
    parameters.flatMap(({ name, example }) =>
      name !== undefined && example !== undefined ? [[name, example]] : [],
    ),
  );
}

function bodyExample({ requestBody }: Operation): Values | undefined {
  return Object.values(requestBody?.content['application/json'].examples ?? {})[0]?.value;
}

async function request(
  api: Api,
  { method, path, operationId }: Operation,
  { parameters, body }: { readonly parameters: Values; readonly body: Values | undefined },
): Promise<{ readonly sent: Request; readonly answer: ApiResponse }> {
  const query = Object.entries(parameters).filter(([name]) => !path.includes(`{${name}}`));
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name]));
  const search = query.length === 0 ? '' : `?${new URLSearchParams(query as [string, string][])}`;
  const headers: Record<string, string> =
    operationId === 'createPayment' ? { 'Idempotency-Key': randomUUID() } : {};
  const answer = await api.call(method.toUpperCase(), `${address}${search}`, body, headers);
  return { sent: { body, headers }, answer };
}

/** A runtime expression (OpenAPI, "Runtime Expressions"), of the kinds that the document uses. */
function evaluate(expression: string, sent: Request, answer: ApiResponse): unknown {
  const [, source = '', pointer] = /^\$(.+?)(?:#(.*))?$/.exec(expression) ?? [];
  if (source.startsWith('request.header.')) return sent.headers[source.split('.')[2] ?? ''];
  const body = { 'request.body': sent.body, 'response.body': answer.body }[source];
  const found = (pointer ?? '')
    .split('/')
    .slice(1)
    .reduce<unknown>((inside, key) => (inside as Values | undefined)?.[key], body);
  if (found === undefined || found === null)
    throw new Error(`${expression} is not in ${answer.status} ${JSON.stringify(answer.body)}`);
  return found;
}
