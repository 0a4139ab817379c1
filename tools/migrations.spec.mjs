/**
 * Migrations only add, so that processes of the previous release work on the new schema while they are replaced
 * (docs/operations.md, Upgrading). What no release uses any more is removed by a migration of a list here.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../libs/read-models/prisma/migrations');
/** Those before were released in one piece. */
const first = '20261202';
/** Migration to the release that still used what it removes: `'20270101000000_no_samples': '0.1.0'`. */
const removals = {};

/** Migrations that make others wait for a table while they read all of it, and why that is short. */
const shortWaits = {
  '20261202000400_known_late_rejections': 'no release before this one has filled the table',
  '20261204010000_erased_parties_by_time': 'only directory-projector writes the tables',
};

/** What a statement does to processes that do not know it, or null. */
function breaks(statement) {
  const text = statement.replace(/--.*$/gm, ' ').replace(/'(?:[^']|'')*'/g, "''");
  const found = rules.find(({ form }) => form.test(text));
  return found?.what ?? null;
}

const rules = [
  { form: /\bDROP\s+TABLE\b/i, what: 'drops a table' },
  { form: /\bDROP\s+COLUMN\b/i, what: 'drops a column' },
  { form: /\bRENAME\b/i, what: 'renames' },
  {
    form: /\bALTER\s+COLUMN\s+\S+\s+(SET\s+DATA\s+)?TYPE\b/i,
    what: 'changes the type of a column',
  },
  { form: /\bALTER\s+COLUMN\s+\S+\s+DROP\s+DEFAULT\b/i, what: 'drops a default' },
  { form: /\bSET\s+NOT\s+NULL\b/i, what: 'makes a column required' },
  {
    form: /\bADD\s+COLUMN\b(?![^,;]*\bDEFAULT\b)[^,;]*\bNOT\s+NULL\b/i,
    what: 'adds a required column without a default',
  },
];

/** What makes others wait for a table that is in use until all of it was read, or null. */
function holdsUp(statement, sql) {
  const text = statement.replace(/'(?:[^']|'')*'/g, "''");
  const { what, table } =
    waits
      .map(({ form, what: does }) => ({ what: does, table: form.exec(text)?.groups.table }))
      .find((found) => found.table !== undefined) ?? {};
  if (what === undefined) return null;
  const isNew = new RegExp(`\\bCREATE\\s+TABLE\\s+"?${table}"?\\s*\\(`, 'i').test(sql);
  return isNew ? null : what;
}

const altered = String.raw`\bALTER\s+TABLE\s+"?(?<table>\w+)"?\b[^;]*`;
const waits = [
  {
    form: /\bCREATE\s+(?:UNIQUE\s+)?INDEX\s+(?!CONCURRENTLY\b)[^;]*?\bON\s+"?(?<table>\w+)/i,
    what: 'builds an index under a lock',
  },
  {
    form: new RegExp(
      String.raw`${altered}\bADD\s+COLUMN\b[^,;]*\bDEFAULT\s+(?:gen_random_uuid|uuidv7|random|clock_timestamp|nextval)\b`,
      'i',
    ),
    what: 'writes every row anew under a lock',
  },
  {
    form: new RegExp(
      String.raw`${altered}\bADD\s+(?:CONSTRAINT\s+\S+\s+)?(?:CHECK|FOREIGN\s+KEY)\b(?![^;]*\bNOT\s+VALID\b)`,
      'i',
    ),
    what: 'checks every row under a lock',
  },
  {
    form: new RegExp(
      String.raw`${altered}\bADD\s+(?:CONSTRAINT\s+\S+\s+)?(?:PRIMARY\s+KEY|UNIQUE)\b(?!\s+USING\s+INDEX\b)`,
      'i',
    ),
    what: 'builds an index under a lock',
  },
];

/** Whether a table is renamed, or a constraint of it, and the same migration puts another table in its place. */
function isReplaced(statement, sql) {
  const [, table, constraint] =
    /\bALTER\s+TABLE\s+(\w+)\s+RENAME\s+(?:TO|(CONSTRAINT))\b/i.exec(statement) ?? [];
  if (table === undefined) return false;
  const renames = sql.matchAll(/\bALTER\s+TABLE\s+(\w+)\s+RENAME\s+TO\s+(\w+)/gi);
  const replaced = [...renames].filter(([, from]) =>
    new RegExp(`\\bCREATE\\s+TABLE\\s+${from}\\s*\\(`, 'i').test(sql),
  );
  return replaced.some(([, from, to]) => table === (constraint === undefined ? from : to));
}

const breaksOf = (sql) =>
  statementsOf(sql).flatMap((statement) => {
    const what = breaks(statement);
    return what === null || isReplaced(statement, sql) ? [] : [what];
  });

const statementsOf = (sql) => sql.replace(/--.*$/gm, ' ').split(';');

describe('a migration', () => {
  it.each([
    ['DROP TABLE payments', 'drops a table'],
    ['ALTER TABLE payments\n  DROP COLUMN status', 'drops a column'],
    ['ALTER TABLE payments RENAME TO transfers', 'renames'],
    ['ALTER TABLE payments RENAME COLUMN status TO state', 'renames'],
    ['ALTER TABLE payments ALTER COLUMN status TYPE integer', 'changes the type of a column'],
    ['ALTER TABLE payments ALTER COLUMN status DROP DEFAULT', 'drops a default'],
    ['ALTER TABLE payments ALTER COLUMN status SET NOT NULL', 'makes a column required'],
    ['ALTER TABLE payments ADD COLUMN x text NOT NULL', 'adds a required column without a default'],
    [
      'ALTER TABLE payments ADD COLUMN x text, ADD COLUMN y text NOT NULL',
      'adds a required column without a default',
    ],
  ])('that breaks the previous release is recognized: %s', (sql, what) => {
    expect(breaks(sql)).toBe(what);
  });

  it.each([
    'CREATE TABLE x (id uuid NOT NULL, PRIMARY KEY (id))',
    'ALTER TABLE payments ADD COLUMN x text',
    "ALTER TABLE payments ADD COLUMN x text NOT NULL DEFAULT 'a', ADD COLUMN y text",
    'ALTER TABLE payments ADD COLUMN x integer DEFAULT 1 NOT NULL',
    'DROP INDEX payments_by_time',
    "-- DROP TABLE payments\nINSERT INTO x VALUES ('RENAME')",
  ])('that only adds is not: %s', (sql) => {
    expect(breaks(sql)).toBeNull();
  });

  it('may put another table in the place of one that it renames', () => {
    const renaming =
      'ALTER TABLE payments RENAME TO payments_1; ALTER TABLE payments_1 RENAME CONSTRAINT a TO b; CREATE TABLE';
    expect(breaksOf(`${renaming} payments (id uuid)`)).toEqual([]);
    expect(breaksOf(`${renaming} payments_2 (id uuid)`)).toEqual(['renames', 'renames']);
    const constraint = 'ALTER TABLE payments RENAME CONSTRAINT a TO b';
    expect(breaksOf(constraint)).toEqual(['renames']);
  });

  it.each([
    ['CREATE INDEX a ON payments (id)', 'builds an index under a lock'],
    ['CREATE UNIQUE INDEX a\n  ON payments (id)', 'builds an index under a lock'],
    ['ALTER TABLE payments ADD CONSTRAINT a UNIQUE (id)', 'builds an index under a lock'],
    [
      'ALTER TABLE payments DROP CONSTRAINT a, ADD CONSTRAINT a PRIMARY KEY (id)',
      'builds an index under a lock',
    ],
    ['ALTER TABLE payments ADD CONSTRAINT a CHECK (x > 0)', 'checks every row under a lock'],
    [
      'ALTER TABLE payments ADD COLUMN x text, ADD COLUMN y uuid NOT NULL DEFAULT gen_random_uuid()',
      'writes every row anew under a lock',
    ],
  ])('that makes others wait for a table is recognized: %s', (sql, what) => {
    expect(holdsUp(sql, sql)).toBe(what);
  });

  it.each([
    'CREATE INDEX CONCURRENTLY a ON payments (id)',
    'CREATE TABLE payments (id uuid); CREATE INDEX a ON payments (id)',
    'ALTER TABLE payments ADD CONSTRAINT a PRIMARY KEY USING INDEX b',
    'ALTER TABLE payments ADD CONSTRAINT a CHECK (x > 0) NOT VALID',
    'ALTER TABLE payments ADD COLUMN x timestamptz NOT NULL DEFAULT now()',
  ])('that makes nobody wait is not: %s', (sql) => {
    expect(statementsOf(sql).map((statement) => holdsUp(statement, sql))).not.toContainEqual(
      expect.any(String),
    );
  });

  const names = readdirSync(folder).filter((name) => name >= first && /^\d/.test(name));
  it('only adds, or removes what is listed here', () => {
    const found = names.flatMap((name) =>
      breaksOf(readFileSync(join(folder, name, 'migration.sql'), 'utf8')).flatMap((what) =>
        name in removals ? [] : [`${name} ${what}`],
      ),
    );
    expect(found).toEqual([]);
  });

  it('without a transaction is one index, which the next process builds anew if this one dies', () => {
    const other = names.filter((name) => {
      const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
      const [first = '', ...rest] = statementsOf(sql);
      const isIndex = /^\s*CREATE (?:UNIQUE )?INDEX CONCURRENTLY \w+ ON /.test(first);
      const isOne = rest.join('').trim() === '';
      return /^-- migrate:no-transaction$/m.test(sql) && !(isIndex && isOne);
    });
    expect(other).toEqual([]);
  });

  it('makes nobody wait for a table that it reads, or is listed here', () => {
    const found = names.flatMap((name) => {
      const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
      const does = statementsOf(sql).map((statement) => holdsUp(statement, sql));
      return does.some((what) => what !== null) ? [name] : [];
    });
    expect(found).toEqual(Object.keys(shortWaits));
  });
});
