/**
 * What a change of a published event would break for its readers. A reader was written against the committed JSON
 * Schema: it may need every field that the schema promises, and knows no other. Fields that are optional, and
 * further values of an enum, may be added.
 */

/** Keywords that say nothing about the value. */
const words = new Set(['$schema', '$id', 'title', 'description', 'examples', 'deprecated']);

/**
 * @param before the committed schema; a file that is gone counts as null, as does an event that is gone
 * @param after the schema of the code
 * @returns one line per breaking change
 */
export function breakingChanges(name, before, after) {
  if (before === null) return [];
  if (after === null) return [`${name}: the event is no longer published`];
  return compare(name, before, after);
}

function compare(path, before, after) {
  return [
    ...comparedTypes(path, before, after),
    ...comparedValues(path, before, after),
    ...comparedFields(path, before, after),
    ...comparedParts(path, before, after),
    ...comparedRules(path, before, after),
  ];
}

function comparedTypes(path, before, after) {
  const [was, is] = [before.type, after.type].map((type) => [type ?? []].flat().toSorted());
  return same(was, is) ? [] : [`${path}: the type was ${named(was)} and is ${named(is)}`];
}

function named(types) {
  return types.length === 0 ? 'any' : types.join(' or ');
}

function comparedValues(path, before, after) {
  const [was, is] = [before, after].map((schema) =>
    schema.const === undefined ? (schema.enum ?? null) : [schema.const],
  );
  if (was === null) return is === null ? [] : [`${path}: only some values are allowed now`];
  if (is === null) return [`${path}: any value is possible now`];
  const gone = was.filter((value) => !is.includes(value));
  return gone.length === 0 ? [] : [`${path}: the enum lost ${gone.join(', ')}`];
}

function comparedFields(path, before, after) {
  const [was, is] = [before.properties ?? {}, after.properties ?? {}];
  const [needed, needs] = [before.required ?? [], after.required ?? []];
  const known = Object.keys(was).flatMap((field) => {
    const inside = `${path}.${field}`;
    if (is[field] === undefined) return [`${inside}: the field was removed`];
    const lost = needed.includes(field) && !needs.includes(field);
    const won = !needed.includes(field) && needs.includes(field);
    return [
      ...(lost ? [`${inside}: the field may be absent now`] : []),
      ...(won ? [`${inside}: the field is required now`] : []),
      ...compare(inside, was[field], is[field]),
    ];
  });
  const added = needs.filter((field) => is[field] !== undefined && was[field] === undefined);
  return [...known, ...added.map((field) => `${path}.${field}: a new field must be optional`)];
}

/** Items of lists, and alternatives. */
function comparedParts(path, before, after) {
  const items =
    (before.items === undefined) === (after.items === undefined)
      ? before.items === undefined
        ? []
        : compare(`${path}[]`, before.items, after.items)
      : [`${path}[]: the items changed`];
  const lists = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => {
    const [was, is] = [before[keyword] ?? [], after[keyword] ?? []];
    if (was.length !== is.length) return [`${path}: the alternatives changed`];
    return was.flatMap((part, index) => compare(path, part, is[index]));
  });
  return [...items, ...lists];
}

const compared = ['type', 'enum', 'const', 'properties', 'required', 'items'];
const handled = new Set([...compared, 'anyOf', 'oneOf', 'allOf', ...words]);

/** Formats, patterns and bounds: a reader may count on them, so none of them changes. */
function comparedRules(path, before, after) {
  const keywords = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keywords]
    .filter((keyword) => !handled.has(keyword) && !same(before[keyword], after[keyword]))
    .map((keyword) => `${path}: ${keyword} changed`);
}

function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}
