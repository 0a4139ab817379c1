/**
 * Checks values against the schemas of the OpenAPI document, for tests of examples and of real answers. It
 * supports the part of JSON Schema that the document uses, and throws at any other keyword.
 */
type Json = { readonly [key: string]: unknown };

export interface DocumentJudge {
  /** The problems of a value, by path; empty without any. */
  problems(schema: unknown, value: unknown): readonly string[];
  /** The same, and fields that the schema does not name are problems too. */
  exactProblems(schema: unknown, value: unknown): readonly string[];
  /** What a `$ref` of the document leads to. @throws when it leads nowhere */
  resolve(reference: string): Json;
}

export function judgeBy(document: Json): DocumentJudge {
  const resolve = (reference: string): Json => {
    const keys = reference.replace(/^#\//, '').split('/');
    const found = keys.reduce<unknown>(
      (inside, key) => (inside as Json | undefined)?.[key.replace(/~1/g, '/').replace(/~0/g, '~')],
      document,
    );
    if (typeof found !== 'object' || found === null) throw new Error(`${reference} leads nowhere`);
    return found as Json;
  };
  const judge = (exact: boolean) => (schema: unknown, value: unknown) => {
    const visit: Visit = (inner, inside, path) => {
      const found = Object.entries(inner).flatMap(([keyword, operand]) => {
        const rule = rules[keyword];
        if (rule === undefined) throw new Error(`the keyword ${keyword} is not known here`);
        return rule({ operand, schema: inner, value: inside, path, visit, resolve });
      });
      return exact ? [...found, ...unnamed(inner, inside, path)] : found;
    };
    return visit(schema as Json, value, '');
  };
  return { problems: judge(false), exactProblems: judge(true), resolve };
}

type Visit = (schema: Json, value: unknown, path: string) => readonly string[];
interface Case {
  readonly operand: unknown;
  readonly schema: Json;
  readonly value: unknown;
  readonly path: string;
  readonly visit: Visit;
  readonly resolve: (reference: string) => Json;
}
type Rule = (of: Case) => readonly string[];

const none: readonly string[] = [];
/** A rule about values of one kind: others pass it. */
const must =
  <Kind>(is: (value: unknown) => value is Kind, holds: (value: Kind, operand: never) => boolean) =>
  ({ operand, value, path }: Case): readonly string[] =>
    !is(value) || holds(value, operand as never)
      ? none
      : [`${path}: ${JSON.stringify(value)} against ${JSON.stringify(operand)}`];

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number';
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const isAny = (_value: unknown): _value is unknown => true;
const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: isText,
  number: isNumber,
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: isList,
  object: isRecord,
};
const formats: Readonly<Record<string, RegExp>> = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  'aba-routing-number': /^\d{9}$/,
  date: /^\d{4}-\d\d-\d\d$/,
  email: /^[^@\s]+@[^@\s]+$/,
  uri: /^[a-z]+:\/\/\S+$/,
};

const rules: Readonly<Record<string, Rule>> = {
  $ref: ({ operand, value, path, visit, resolve }) => visit(resolve(String(operand)), value, path),
  type: must(isAny, (value, type: string | readonly string[]) =>
    [type].flat().some((name) => types[name]?.(value)),
  ),
  enum: must(isAny, (value, values: readonly unknown[]) => values.includes(value)),
  const: must(isAny, (value, constant) => value === constant),
  format: must(isText, (value, name) => formats[name]?.test(value) ?? false),
  pattern: must(isText, (value, pattern) => new RegExp(pattern, 'u').test(value)),
  minLength: must(isText, (value, min) => [...value].length >= min),
  maxLength: must(isText, (value, max) => [...value].length <= max),
  minimum: must(isNumber, (value, min) => value >= min),
  maximum: must(isNumber, (value, max) => value <= max),
  minItems: must(isList, (value, min) => value.length >= min),
  required: must(isRecord, (value, names: readonly string[]) =>
    names.every((name) => Object.hasOwn(value, name)),
  ),
  items: ({ operand, value, path, visit }) =>
    isList(value)
      ? value.flatMap((item, at) => visit(operand as Json, item, `${path}.${at}`))
      : none,
  properties: ({ operand, value, path, visit }) =>
    Object.entries(operand as Record<string, Json>).flatMap(([name, schema]) =>
      isRecord(value) && Object.hasOwn(value, name)
        ? visit(schema, value[name], `${path}.${name}`)
        : none,
    ),
  allOf: ({ operand, value, path, visit }) =>
    (operand as readonly Json[]).flatMap((schema) => visit(schema, value, path)),
  anyOf: ({ operand, value, path, visit }) => {
    const found = (operand as readonly Json[]).map((schema) => visit(schema, value, path));
    return found.some(({ length }) => length === 0) ? none : found.flat();
  },
  oneOf: ({ operand, value, path, visit }) => {
    const found = (operand as readonly Json[]).map((schema) => visit(schema, value, path));
    const fitting = found.filter(({ length }) => length === 0).length;
    if (fitting === 1) return none;
    return fitting === 0 ? found.flat() : [`${path}: fits ${fitting} alternatives`];
  },
  not: ({ operand, value, path, visit }) =>
    visit(operand as Json, value, path).length === 0
      ? [`${path}: ${JSON.stringify(value)} is what ${JSON.stringify(operand)} excludes`]
      : none,
  additionalProperties: () => none,
  default: () => none,
  description: () => none,
  title: () => none,
};

/** Fields that an object has and its schema does not name; a schema without a type adds to another. */
function unnamed(schema: Json, value: unknown, path: string): readonly string[] {
  const { type, properties, additionalProperties } = schema;
  if (type !== 'object' || additionalProperties !== undefined || !isRecord(value)) return none;
  return Object.keys(value)
    .filter((name) => !Object.hasOwn(properties ?? {}, name))
    .map((name) => `${path}.${name}: not in the schema`);
}
