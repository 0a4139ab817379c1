/** From PIS_BANKS_FILE to connections that work, and the messages when they cannot. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { BankUnavailable, type NamedConnection } from '@pis/bank-rails';
import { fileArchive } from '@pis/bank-rails/connections';
import { instructionEnding, startSftpServer, type TestSftpServer } from '@pis/bank-rails/testing';
import type { Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import {
  createTestDatabase,
  makeCertificate,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { settlementPartyId } from '@pis/domain';
import { ConfigurationError, createLogger } from '@pis/service-kit';
import type pg from 'pg';
import { configuredBanks } from './configured-banks.js';

const untilMs = 30_000;
let folder: string;
let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
let server: TestSftpServer;
const opened: NamedConnection[] = [];
beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-configured-banks-'));
  server = await startSftpServer({ username: 'acme', password: 's3cret' });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  keyring = await testKeyringOn(pool);
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ connection }) => connection.close()));
  await pool.end();
  await database.drop();
});

function fileOf(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

async function configured(
  text: string,
  env: Readonly<Record<string, string>> = { BANK_PASSWORD: 's3cret' },
  environment: 'sandbox' | 'production' = 'sandbox',
): Promise<readonly NamedConnection[]> {
  const file = fileOf('banks.yaml', text);
  const logger = createLogger('rail-executor', 'silent');
  const banks = await configuredBanks({
    ...{ file, environment, env, pool, keyring, logger },
  });
  opened.push(...banks);
  return banks;
}

const terms = '{ submissionInFlightMaxMs: 60000, referenceMemoryMs: 7776000000 }';
const overSftp = (port: number) => `banks:
  - name: first
    connections:
      - name: first-ach
        rails: [ACH]
        terms: ${terms}
        sftp:
          host: 127.0.0.1
          port: ${port}
          username: acme
          hostKeys: ['${server.publicKey}']
          password: { variable: BANK_PASSWORD }
          outboundFolder: /out
          inboundFolder: /in
          pollSeconds: 0.1
        ach:
          odfiRoutingNumber: '121000248'
          immediateOrigin: '1234567890'
          immediateOriginName: ACME PAYMENTS
          immediateDestination: '121000248'
          immediateDestinationName: FIRST BANK
          company: { name: ACME PAYMENTS, id: '1234567890' }
`;
const overHttps = `  - name: second
    connections:
      - name: second-messages
        rails: [FEDNOW, RTP]
        terms: ${terms}
        https:
          baseUrl: https://127.0.0.1:1
          caFile: CA
          certificateFile: CERTIFICATE
          privateKey: { file: KEY }
        iso20022: { routingNumber: '026009593' }
`;

it('sends ACH payments as a file over SFTP, archived, while another bank is down', async () => {
  const { key, cert, caPem } = await makeCertificate(['acme'], 'clientAuth');
  const files = {
    CA: fileOf('ca.pem', caPem),
    CERTIFICATE: fileOf('cert.pem', cert),
    KEY: fileOf('key.pem', key),
  };
  const text = (overSftp(server.port) + overHttps).replace(
    /\b(CA|CERTIFICATE|KEY)\b(?= *[}\n])/g,
    (name) => files[name as keyof typeof files],
  );
  const [ach, messages] = await configured(text);
  expect(ach).toMatchObject({ name: 'first-ach', rails: ['ACH'] });
  expect(messages).toMatchObject({ name: 'second-messages', rails: ['FEDNOW', 'RTP'] });

  const transfer = instructionEnding('4321');
  const instant = { ...instructionEnding('4321'), rail: 'RTP', direction: 'OUTBOUND' } as const;
  await expect(messages?.connection.submit(instant)).rejects.toBeInstanceOf(BankUnavailable);

  ach?.start?.();
  expect(await ach?.connection.submit(transfer)).toMatchObject({ outcome: 'pending' });
  const sent = await until(
    () => [...server.files].find(([name]) => /^\/out\/[^.]/.test(name))?.[1].bytes,
    { timeoutMs: untilMs },
  );
  expect(sent.toString()).toContain('ACME PAYMENTS');
  const archive = fileArchive({ pool, keyring });
  const [kept] = await archive.list({ paymentId: transfer.paymentId, max: 1 });
  expect(sent.equals(await archive.bytes(kept?.id ?? ''))).toBe(true);
});

it('says in production that a connection for ACH has no company for collections', async () => {
  const lacking = async (text: string, environment: 'sandbox' | 'production') => {
    const [bank] = await configured(text, { BANK_PASSWORD: 's3cret' }, environment);
    return bank?.lacksFor?.(settlementPartyId) ?? null;
  };
  const text = overSftp(server.port);
  expect(await lacking(text, 'production')).toBe(
    `the connection "first-ach" of PIS_BANKS_FILE has no company for ${settlementPartyId} in ach.companies`,
  );
  expect(await lacking(text, 'sandbox')).toBeNull();
  const company = "{ name: OPERATOR, id: '1234567891' }";
  const entry = `          companies: { ${settlementPartyId}: ${company} }\n`;
  expect(await lacking(text + entry, 'production')).toBeNull();
});

it('names each mistake of the file, and a secret that is missing', async () => {
  const failing = async (text: string, env: Readonly<Record<string, string>> = {}) => {
    const error = await configured(text, env).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as ConfigurationError).problems;
  };
  expect(await failing(overSftp(0))).toEqual([
    expect.stringMatching(/^PIS_BANKS_FILE: line \d+: banks\.0\.connections\.0\.sftp\.port: /),
  ]);
  expect(await failing(overSftp(22))).toEqual([
    'PIS_BANKS_FILE: first-ach: the environment variable BANK_PASSWORD is not set',
  ]);
});
