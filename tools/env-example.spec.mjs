/** .env.example lists exactly the variables that the apps read, with their defaults. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as environment from '../libs/service-kit/src/environment.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const shape = Object.assign(
  {},
  ...Object.entries(environment)
    .filter(([name]) => name.endsWith('Env'))
    .map(([, fragment]) => fragment),
);
const example = readFileSync(join(root, '.env.example'), 'utf8');
/** Variables that are set in the file, and those that are only mentioned after a `#`. */
const lines = [...example.matchAll(/^(# )?([A-Z][A-Z0-9_]*)=(.*)$/gm)];
const set = lines
  .filter(([, hash]) => hash === undefined)
  .map(([, , name, value]) => [name, value]);

/** The default of a variable in its schema. Undefined if there is none. */
const defaultOf = (name) => shape[name].parse(undefined);

it('names every variable the apps read, once, and no other', () => {
  const named = lines.map(([, , name]) => name);
  expect(named.toSorted()).toEqual(Object.keys(shape).toSorted());
});

it.each(set)('sets %s to %s, which is its default', (name, value) => {
  expect(value === '' ? defaultOf(name) : shape[name].parse(value)).toEqual(defaultOf(name));
});

it('only mentions the variables that have no default', () => {
  const withDefault = Object.keys(shape).filter((name) => {
    const value = defaultOf(name);
    const isEmpty = [Array, Map].some((kind) => value instanceof kind) && [...value].length === 0;
    return value !== undefined && !isEmpty;
  });
  expect(set.map(([name]) => name).toSorted()).toEqual(withDefault.toSorted());
});

it('gives examples that the apps accept', () => {
  for (const [, hash, name, value] of lines)
    if (hash !== undefined && value !== '')
      expect({ name, ok: shape[name].safeParse(value).success }).toEqual({ name, ok: true });
});
