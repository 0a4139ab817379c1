/** `pis statements generate` and `restore`, as an operator runs them. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { postgresDocuments, statementKey } from '@pis/documents';
import { lastEndedMonth, monthBefore, monthOf, originator } from '@pis/domain';
import { postgresEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { createKeyring, type Keyring, MasterKeys, ownerOf, pgDataKeyTable } from '@pis/keyring';
import { type CliOrganization, cliOrganization } from './support/cli-database.js';
import { pis, pisJson, withoutProgress } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(180_000);

const zone = 'America/New_York';
const originatorId = randomUUID();
let keyring: Keyring;
let cli: CliOrganization;
beforeAll(async () => {
  const masterKey = randomBytes(32);
  cli = await cliOrganization(masterKey);
  // The first command that seals something gives the store its keys.
  const user = ['--email', 'a@acme.example', '--role', 'viewer'];
  await pisJson(['user', 'create', '--organization', cli.organizationId, ...user], cli.environment);
  const masterKeys = new MasterKeys([masterKey]);
  keyring = createKeyring({ masterKeys, table: pgDataKeyTable(cli.pool) });
  await createOriginator();
});
afterAll(() => cli?.end());

const last = lastEndedMonth(zone, new Date(Date.now() - 86_400_000));

/** In the middle of the last month. */
async function createOriginator(): Promise<void> {
  const store = sealedStore(postgresEventStore({ pool: cli.pool }), keyring);
  const { from, to } = monthOf(zone, last.year, last.month);
  const data = {
    ...{
      originatorId,
      organizationId: cli.organizationId,
      entityType: 'BUSINESS' as const,
      companyName: 'Acme Parts',
    },
    ...{ firstName: null, lastName: null, email: 'parts@acme.example', phoneNumber: null },
    ...{ legalAddress: null, bankAccount: null },
  };
  const at = new Date((from.getTime() + to.getTime()) / 2).toISOString();
  await repository(store, originator).create(
    originatorId,
    { type: 'CreateOriginator', at, data },
    systemContext('test'),
  );
  await store.close();
}

const generate = ({ year, month }: { year: number; month: number }, ...more: string[]) => [
  ...['statements', 'generate', '--year', String(year), '--month', String(month), ...more],
];

it('makes the statement of an originator once, and stores what it recorded', async () => {
  const command = generate(last, '--originator', originatorId);
  const first = await pisJson<{ statements: { statementId: string }[] }>(command, cli.environment);
  const statementId = first.statements[0]?.statementId ?? '';
  expect(first).toEqual({ statements: [{ originatorId, statementId, isNew: true }] });
  expect(await pisJson(command, cli.environment)).toEqual({
    statements: [{ originatorId, statementId, isNew: false }],
  });
  const recorded = await recordedOne();
  expect(recorded.data.sha256).toBe(await storedHash(statementId, recorded.data.documentId));
});

it('makes a lost document again, and stores no other bytes than the recorded ones', async () => {
  const { statements } = await pisJson<{ statements: { statementId: string }[] }>(
    generate(last, '--originator', originatorId),
    cli.environment,
  );
  const statementId = statements[0]?.statementId ?? '';
  const { sha256, sizeBytes, documentId } = (await recordedOne()).data;
  const documents = postgresDocuments(cli.pool, keyring);
  const key = statementKey({
    organizationId: cli.organizationId,
    originatorId,
    statementId,
    documentId,
  });
  await documents.remove(key);
  const audited = await pis(['audit', 'verify'], cli.environment);
  const { code, stderr } = audited;
  expect({ code, stderr: withoutProgress(stderr) }).toEqual({ code: 1, stderr: '' });
  expect(audited.stdout).toContain(
    `documents row ${key}: the document of the statement is missing\n`,
  );
  const restore = ['statements', 'restore', '--id'];
  expectRefusal(
    await pis([...restore, randomUUID(), '--json'], cli.environment),
    /no statement has this ID/,
  );
  const restored = { statementId, sha256, sizeBytes };
  expect(await pisJson([...restore, statementId], cli.environment)).toEqual(restored);
  expect(await storedHash(statementId, documentId)).toBe(sha256);
  expect(await pisJson(['audit', 'verify'], cli.environment)).toMatchObject({
    ok: true,
    readModels: { personalData: true, statements: { compared: 1, erased: 0 } },
  });
});

async function recordedOne() {
  const { rows } = await cli.pool.query<{
    data: { sha256: string; sizeBytes: number; documentId: string };
  }>(`SELECT data FROM events WHERE type = 'StatementGenerated'`);
  const [one, ...others] = rows;
  if (one === undefined || others.length > 0) throw new Error('one statement is recorded');
  return one;
}

async function storedHash(statementId: string, documentId: string): Promise<string> {
  const key = statementKey({
    organizationId: cli.organizationId,
    originatorId,
    statementId,
    documentId,
  });
  const hash = createHash('sha256');
  const owner = ownerOf.originator(originatorId);
  for await (const bytes of postgresDocuments(cli.pool, keyring).read(key, owner))
    hash.update(bytes);
  return hash.digest('hex');
}

it('refuses months without a statement, and says why', async () => {
  const refused = async (month: { year: number; month: number }, of = originatorId) =>
    pis([...generate(month, '--originator', of), '--json'], cli.environment);
  expectRefusal(await refused({ year: 9999, month: 12 }), /has not ended/);
  expectRefusal(await refused(monthBefore(last)), /created after that month/);
  expectRefusal(await refused(last, randomUUID()), /no such originator/);
  expectRefusal(await pis(generate({ year: 2026, month: 13 }), cli.environment), /from 1 to 12/);
});

it('names each originator whose month has not ended, and leaves nobody out', async () => {
  // The lists, without a projector.
  await pisJson(['projections', 'rebuild', 'directory'], cli.environment);
  const { code, stdout } = await pis(
    [...generate({ year: 9999, month: 12 }), '--json'],
    cli.environment,
  );
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    statements: [{ originatorId, skipped: 'MONTH_NOT_ENDED' }],
  });
});
