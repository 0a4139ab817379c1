import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseAckFile } from '@pis/bank-rails/ach';
import { type BankConnectionConfig, readBanksFile } from '@pis/bank-rails/banks';
import {
  type FileTransport,
  type MessageTransport,
  openFileTransport,
  openMessageTransport,
} from '@pis/bank-rails/connections';
import { randomForwardFile } from '@pis/bank-rails/testing';
import { writeNachaFile } from '@pis/bank-rails/ach';
import {
  createTestDatabase,
  generator,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { createLogger } from '@pis/service-kit';
import type pg from 'pg';
import { AchDesk } from './ach-desk.js';
import { BankCore } from './bank-core.js';
import { BankServers } from './bank-servers.js';
import { banksFileName, keyFiles } from './customer.js';
import { MessageDesk } from './message-desk.js';

const sandboxTimeMs = 2_000;
const logger = createLogger('test', 'silent');
let pool: pg.Pool;
let database: TestDatabase;
let folder: string;
let servers: BankServers;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-bank-servers-'));
  servers = open(folder);
  await servers.start();
});
afterAll(async () => {
  await servers?.stop();
  await pool?.end();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

function open(inFolder: string, publicHost?: string): BankServers {
  const core = new BankCore(pool, { delayMs: 0 });
  const desks = { ach: new AchDesk(core), messages: new MessageDesk(core) };
  const ports = { host: '127.0.0.1', sftpPort: 0, httpsPort: 0 };
  return new BankServers({ ...desks, ...ports, publicHost, folder: inFolder, logger });
}

async function connections(): Promise<readonly BankConnectionConfig[]> {
  const file = path.join(folder, banksFileName);
  return (await readBanksFile(file, { environment: 'sandbox' })).connections;
}

/** As the banks file of the simulator says. */
async function files(): Promise<FileTransport> {
  for (const { name, protocol } of await connections())
    if (protocol.kind === 'sftp') return openFileTransport(protocol, { name, env: {} });
  throw new Error('no SFTP connection');
}

async function messages(): Promise<MessageTransport> {
  for (const { name, protocol } of await connections())
    if (protocol.kind === 'https') return openMessageTransport(protocol, { name, env: {} });
  throw new Error('no HTTPS connection');
}

describe('the servers of the simulated bank', () => {
  it('take a NACHA file over SFTP and answer with files, also when it comes again', async () => {
    const transport = await files();
    try {
      const bytes = await writeNachaFile(randomForwardFile(generator(3), 2_000));
      await transport.put('PIS-1.ach', bytes);
      await transport.put('PIS-1.ach', bytes);
      const statuses: string[] = [];
      for (const listed of await transport.list(100)) {
        const { file } = await parseAckFile(await transport.get(listed.name));
        if (file !== null) statuses.push(file.status);
        await transport.remove(listed);
      }
      expect(statuses).toEqual(['accepted', 'duplicate']);
      expect((await transport.list(100)).map(({ name }) => name)).toEqual([]);
    } finally {
      await transport.close();
    }
  });

  it('answer over HTTPS only who shows the right certificate', async () => {
    const transport = await messages();
    try {
      const page = await transport.inbox({ after: '', max: 10 });
      expect(page).toEqual({ messages: [], cursor: '' });
      await expect(transport.send({ id: 'X', xml: Buffer.from('no message') })).rejects.toThrow(
        /refused/,
      );
    } finally {
      await transport.close();
    }
    // Keys of another bank.
    const other = mkdtempSync(path.join(os.tmpdir(), 'pis-bank-others-'));
    const others = open(other);
    await others.start();
    const kept = readFileSync(path.join(folder, keyFiles.customerKey));
    const keptCertificate = readFileSync(path.join(folder, keyFiles.customerCertificate));
    const take = (file: keyof typeof keyFiles) =>
      writeFileSync(
        path.join(folder, keyFiles[file]),
        readFileSync(path.join(other, keyFiles[file])),
      );
    try {
      take('customerKey');
      take('customerCertificate');
      const stranger = await messages();
      await expect(stranger.inbox({ after: '', max: 10 })).rejects.toMatchObject({
        name: 'BankUnavailable',
      });
      await stranger.close();
    } finally {
      writeFileSync(path.join(folder, keyFiles.customerKey), kept);
      writeFileSync(path.join(folder, keyFiles.customerCertificate), keptCertificate);
      await others.stop();
      rmSync(other, { recursive: true, force: true });
    }
  });

  it('let nobody in over SFTP without the right key', async () => {
    const key = path.join(folder, keyFiles.sshCustomerKey);
    const kept = readFileSync(key);
    writeFileSync(key, readFileSync(path.join(folder, keyFiles.sshHostKey)));
    try {
      const stranger = await files();
      await expect(stranger.list(10)).rejects.toMatchObject({ name: 'BankUnavailable' });
      await stranger.close();
    } finally {
      writeFileSync(key, kept);
    }
  });

  it('are asked often: a payment waits for two looks, and has 2 s (sandbox-19)', async () => {
    for (const { protocol } of await connections())
      expect('pollMs' in protocol && 2 * protocol.pollMs).toBeLessThanOrEqual(sandboxTimeMs / 4);
  });

  it('name the host by which the customer reaches them, and refuse another one later', async () => {
    const base = mkdtempSync(path.join(os.tmpdir(), 'pis-bank-host-'));
    const named = open(base, 'bank.example');
    try {
      await named.start();
      const { connections: found } = await readBanksFile(path.join(base, banksFileName), {
        environment: 'sandbox',
      });
      expect(found.map(({ protocol }) => protocol)).toMatchObject([
        { host: 'bank.example' },
        { baseUrl: expect.stringMatching(/^https:\/\/bank\.example:\d+$/) },
      ]);
      const certificate = readFileSync(path.join(base, keyFiles.serverCertificate));
      expect(new X509Certificate(certificate).checkHost('bank.example')).toBe('bank.example');
      await expect(open(base, '::1').start()).rejects.toThrow(
        /PIS_BANK_HOST: .*server\.pem does not name ::1/,
      );
    } finally {
      await named.stop();
      rmSync(base, { recursive: true, force: true });
    }
  });

  it('keep their keys across a restart', async () => {
    const before = readFileSync(path.join(folder, keyFiles.authority), 'utf8');
    await servers.stop();
    servers = open(folder);
    await servers.start();
    expect(readFileSync(path.join(folder, keyFiles.authority), 'utf8')).toBe(before);
    const transport = await files();
    await until(async () => (await transport.list(10)).length === 0, { timeoutMs: 20_000 });
    await transport.close();
  });
});
