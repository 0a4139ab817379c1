/** From the configuration to a connection that works, with secrets from files and variables. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { makeCertificate } from '@pis/local-servers/testing';
import { sshKeyPair, startSftpServer, type TestSftpServer } from '../testing/sftp-server.js';
import type { HttpsConfig, SftpConfig } from './bank-config.js';
import { BankSecretMissing, openFileTransport, openMessageTransport } from './open-transports.js';

const key = sshKeyPair();
let folder: string;
let server: TestSftpServer;
beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-open-'));
  server = await startSftpServer({
    username: 'acme',
    password: 's3cret',
    publicKey: key.publicKey,
  });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

function fileOf(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}
const sftp = (credentials: SftpConfig['credentials']): SftpConfig => ({
  kind: 'sftp',
  host: '127.0.0.1',
  port: server.port,
  username: 'acme',
  hostKeys: [server.publicKey],
  credentials,
  outboundFolder: '/out',
  inboundFolder: '/in',
  pollMs: 60_000,
  inboundSettleMs: 0,
});

it('reads a password from a variable, and a key from a file that ends with a line end', async () => {
  const privateKey = { file: fileOf('key', `${key.privateKey.trimEnd()}\n`) };
  for (const credentials of [
    { password: { variable: 'BANK_PASSWORD' } },
    { password: { file: fileOf('password', 's3cret\n') } },
    { privateKey, passphrase: null },
  ]) {
    const env = { BANK_PASSWORD: 's3cret' };
    const transport = await openFileTransport(sftp(credentials), { name: 'bank', env });
    expect(await transport.list(1)).toEqual([]);
    await transport.close();
  }
});

it('names a secret that is missing, and shows none', async () => {
  const open = (credentials: SftpConfig['credentials']) =>
    openFileTransport(sftp(credentials), { name: 'bank', env: { EMPTY: '' } });
  const missing = path.join(folder, 'missing');
  await expect(open({ password: { variable: 'UNSET' } })).rejects.toThrow(
    'bank: the environment variable UNSET is not set',
  );
  await expect(open({ password: { variable: 'EMPTY' } })).rejects.toThrow(BankSecretMissing);
  await expect(open({ password: { file: missing } })).rejects.toThrow(/missing cannot be read/);
  await expect(open({ password: { file: fileOf('empty', '\n') } })).rejects.toThrow(/is empty$/);
  const nonsense = { file: fileOf('nonsense', 'hunter2') };
  await expect(open({ privateKey: nonsense, passphrase: null })).rejects.toThrow(
    /^bank: the private key cannot be read$/,
  );
});

it('reads the certificates of a connection for messages', async () => {
  const { key: privateKey, cert, caPem } = await makeCertificate(['acme'], 'clientAuth');
  const config: HttpsConfig = {
    kind: 'https',
    baseUrl: 'https://127.0.0.1:1/',
    caFile: fileOf('ca.pem', caPem),
    certificateFile: fileOf('cert.pem', cert),
    privateKey: { variable: 'BANK_KEY' },
    pollMs: 60_000,
  };
  const transport = await openMessageTransport(config, {
    name: 'bank',
    env: { BANK_KEY: privateKey },
  });
  await expect(transport.inbox({ after: '', max: 1 })).rejects.toMatchObject({
    name: 'BankUnavailable',
  });
  await transport.close();
  const wrong = openMessageTransport(config, { name: 'bank', env: { BANK_KEY: 'hunter2' } });
  await expect(wrong).rejects.toThrow(/^bank: the certificates and the private key cannot be used/);
});
