/** `pis routing-directory import`: lists of participants, as an operator imports them. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { jest } from '@jest/globals';
import { listOf, rowOf } from '@pis/bank-rails/testing';
import { StoredDirectory } from '@pis/bank-rails/directory';
import { type CliDatabase, cliDatabase } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);

let cli: CliDatabase;
beforeAll(async () => {
  cli = await cliDatabase();
});
afterAll(() => cli?.end());

const one = { routingNumber: '021000021', name: 'FIRST BANK' };
const two = { routingNumber: '121000248', name: 'SECOND BANK' };

function fileWith(content: string): string {
  const file = path.join(cli.scratch, `${randomBytes(8).toString('hex')}.txt`);
  writeFileSync(file, content);
  return file;
}

const command = (kind: string, file: string, ...more: string[]) => [
  ...['routing-directory', 'import', '--kind', kind, '--file', file],
  ...more,
];

it('imports a list, says what it read, and records it', async () => {
  const file = fileWith(listOf('fedach', [one, two]));
  const who = ['--actor', 'ada', '--reason', 'the monthly list'];
  const counts = { kind: 'fedach', rowsRead: 2, added: 2, changed: 0, removed: 0, refused: 0 };
  expect(await pisJson(command('fedach', file, ...who), cli.environment)).toEqual(counts);
  expect(
    await pisJson(command('rtp', fileWith(listOf('rtp', [one]))), cli.environment),
  ).toMatchObject({
    added: 1,
  });
  expect(await new StoredDirectory(cli.pool).find(one.routingNumber)).toEqual({
    bankName: 'FIRST BANK',
    rails: ['ACH', 'RTP'],
  });
  const { rows } = await cli.pool.query<{ type: string; data: unknown }>(
    `SELECT type, data FROM events WHERE type LIKE 'OperatorAction%' ORDER BY position LIMIT 2`,
  );
  const subject = { kind: 'fedach', file: path.basename(file), acceptsRemovals: false };
  expect(rows).toMatchObject([
    { data: { action: 'routing-directory import', subject, actor: 'ada' } },
    { type: 'OperatorActionSucceeded', data: { outcome: counts } },
  ]);
});

it('names the line and column of a row that it refuses, and imports the others', async () => {
  const bad = rowOf('fedach', { ...one, routingNumber: '021000022' });
  const file = fileWith(`${bad}\n${rowOf('fedach', { ...two, name: 'RENAMED BANK' })}\n`);
  const { code, stdout, stderr } = await pis(command('fedach', file, '--json'), cli.environment);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(JSON.parse(stdout)).toMatchObject({ rowsRead: 2, changed: 1, removed: 0, refused: 1 });
  expect(stderr).toContain('line 1, column 1: not a valid routing number');
  expect(stderr).toContain('1 rows were refused, so no participant was removed');
});

it('refuses a file that is no list, one that is not there, and an unknown kind', async () => {
  const wire = fileWith(listOf('fedwire', [one]));
  expectRefusal(
    await pis(command('fedach', wire), cli.environment),
    /no row can be read as fedach/,
  );
  const nowhere = path.join(cli.scratch, 'nowhere.txt');
  expectRefusal(await pis(command('fedach', nowhere), cli.environment), /nowhere\.txt/);
  expectRefusal(await pis(command('fedach', cli.scratch), cli.environment), /it is a directory/);
  expectRefusal(await pis(command('swift', wire), cli.environment), /Allowed choices/);
});
