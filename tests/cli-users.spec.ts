/** `pis user`: the operator creates the users of the dashboard, and takes their access away. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { type CliOrganization, cliOrganization } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as unknown;
const password = 'correct horse battery';

let cli: CliOrganization;
beforeAll(async () => {
  cli = await cliOrganization();
});
afterAll(() => cli?.end());

const create = (email: string, stdin?: string) =>
  pis(
    [
      ...['user', 'create', '--organization', cli.organizationId, '--email', email],
      ...['--role', 'operator', '--json'],
    ],
    cli.environment,
    stdin,
  );
const list = () =>
  pisJson<{ userId: string; disabled: boolean }[]>(
    ['user', 'list', '--organization', cli.organizationId],
    cli.environment,
  );

async function hashOf(userId: string): Promise<string> {
  const { rows } = await cli.pool.query<{ hash: string }>(
    'SELECT password_hash AS hash FROM user_credentials WHERE user_id = $1',
    [userId],
  );
  return rows[0]?.hash ?? '';
}

it('a user is created with the password on stdin, listed, reset and disabled', async () => {
  const { code, stdout, stderr } = await create('ada@example.com', `${password}\n`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const created = JSON.parse(stdout) as { userId: string };
  expect(created).toEqual({ userId: uuid });
  const { userId } = created;
  const shown = {
    userId,
    organizationId: cli.organizationId,
    email: 'ada@example.com',
    role: 'operator',
  };
  expect(await list()).toEqual([expect.objectContaining({ ...shown, disabled: false })]);

  expectRefusal(await create('ADA@example.com', password), /has this e-mail address/);
  expectRefusal(await create('bob@example.com', 'too short\n'), /12 to 128 characters/);

  const before = await hashOf(userId);
  const reset = await pisJson(['user', 'reset', '--id', userId], cli.environment);
  expect(reset).toEqual({ userId, password: expect.stringMatching(/^[\w-]{24}$/) as unknown });
  expect(await hashOf(userId)).not.toBe(before);

  const disabled = await pisJson(['user', 'disable', '--id', userId], cli.environment);
  expect(disabled).toEqual({ userId });
  expect(await list()).toEqual([expect.objectContaining({ ...shown, disabled: true })]);
});

it('a password is generated and printed once when there is none on stdin', async () => {
  const { stdout } = await create('carol@example.com');
  expect(JSON.parse(stdout)).toEqual({
    userId: uuid,
    password: expect.stringMatching(/^[\w-]{24}$/) as unknown,
  });
});

it('a user is erased for good, and the command is recorded', async () => {
  const { stdout } = await create('dora@example.com', `${password}\n`);
  const { userId } = JSON.parse(stdout) as { userId: string };
  expectRefusal(await pis(['user', 'erase', '--id', userId], cli.environment), /--reason/);
  const erase = ['user', 'erase', '--id', userId, '--reason', 'request 4711'];
  const erased = { userId, erasedAt: expect.any(String) as unknown };
  expect(await pisJson(erase, cli.environment)).toEqual({ ...erased, alreadyErased: false });
  expect((await list()).map((user) => user.userId)).not.toContain(userId);
  expect(await pisJson(erase, cli.environment)).toEqual({ ...erased, alreadyErased: true });
});

it('what cannot be done is refused', async () => {
  const unknown = randomUUID();
  for (const name of ['disable', 'reset'])
    expectRefusal(await pis(['user', name, '--id', unknown], cli.environment), /no such user/);
  const erase = ['user', 'erase', '--id', unknown, '--reason', 'test'];
  expectRefusal(await pis(erase, cli.environment), /no such user/);
  expectRefusal(await pis(['user', 'disable', '--id', 'x'], cli.environment), /not a UUID/);
  const elsewhere = ['user', 'create', '--organization', unknown, '--email', 'x@example.com'];
  expectRefusal(
    await pis([...elsewhere, '--role', 'admin'], cli.environment),
    /no organization|no such organization/,
  );
  expectRefusal(
    await pis([...elsewhere, '--role', 'root'], cli.environment),
    /viewer, operator, approver, admin/,
  );
});
