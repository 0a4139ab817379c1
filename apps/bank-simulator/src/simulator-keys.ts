/**
 * The keys and certificates between the simulated bank and its customer, as files. What is missing is made.
 * Both sides can be configured with files of their own: those that are there are used.
 */
import { webcrypto } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
// @peculiar/x509 asks its user for this polyfill; it must come first.
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import ssh2 from 'ssh2';
import { makeFolder } from '@pis/service-kit';
import { keyFiles } from './customer.js';

export interface SimulatorKeys {
  readonly sshHostKey: string;
  readonly sshHostPublicKey: string;
  readonly sshCustomerPublicKey: string;
  readonly serverKey: string;
  readonly serverCertificate: string;
  readonly authority: string;
}

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 24 * 3_600_000;
/** The sandbox has no one who renews certificates. */
const validDays = 3_650;
const secretMode = 0o600;

/** @param hosts the names and addresses under which the customer reaches the bank */
export async function simulatorKeys(
  folder: string,
  hosts: readonly string[],
): Promise<SimulatorKeys> {
  makeFolder('PIS_DATA_DIR', folder, 0o700);
  const read = (file: keyof typeof keyFiles) => readOrNull(path.join(folder, keyFiles[file]));
  // Whole or not at all: after a crash, what is there is used.
  const write = (file: keyof typeof keyFiles, text: string) => {
    const named = path.join(folder, keyFiles[file]);
    writeFileSync(`${named}.new`, text, { mode: secretMode });
    renameSync(`${named}.new`, named);
  };
  if (read('sshHostKey') === null || read('sshCustomerPublicKey') === null) {
    const host = sshKeys();
    const customer = sshKeys();
    write('sshHostKey', host.private);
    write('sshHostPublicKey', host.public);
    write('sshCustomerKey', customer.private);
    write('sshCustomerPublicKey', customer.public);
  }
  if (read('authority') === null || read('serverCertificate') === null) {
    const made = await certificates(hosts);
    for (const file of [
      'serverKey',
      'serverCertificate',
      'customerKey',
      'customerCertificate',
    ] as const)
      write(file, made[file]);
    // Last: a folder with it is complete.
    write('authority', made.authority);
  }
  const present = (file: keyof typeof keyFiles): string => {
    const text = read(file);
    if (text === null) throw new Error(`${path.join(folder, keyFiles[file])} is missing`);
    return text;
  };
  return {
    sshHostKey: present('sshHostKey'),
    sshHostPublicKey: present('sshHostPublicKey'),
    sshCustomerPublicKey: present('sshCustomerPublicKey'),
    serverKey: present('serverKey'),
    serverCertificate: present('serverCertificate'),
    authority: present('authority'),
  };
}

/** The library writes about one key in a hundred in a form that it cannot read. */
const sshKeyTriesMax = 20;

function sshKeys(): { readonly private: string; readonly public: string } {
  for (let tries = 0; tries < sshKeyTriesMax; tries += 1) {
    const keys = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(keys.private) instanceof Error)) return keys;
  }
  throw new Error('no readable SSH key was made');
}

function readOrNull(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

/** An authority, and the certificates of the bank and its customer that it has signed. */
async function certificates(hosts: readonly string[]) {
  const [caKeys, serverKeys, customerKeys] = await Promise.all([
    generateKeys(),
    generateKeys(),
    generateKeys(),
  ]);
  const validity = {
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + validDays * dayMs),
  };
  const authority = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: '01',
      name: 'CN=Authority of the simulated bank',
      keys: caKeys,
      signingAlgorithm: keyAlgorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      ],
      ...validity,
    },
    webcrypto,
  );
  const signed = (
    serialNumber: string,
    subject: string,
    extensions: x509.Extension[],
    key: webcrypto.CryptoKey,
  ) =>
    x509.X509CertificateGenerator.create(
      {
        serialNumber,
        subject,
        issuer: authority.subject,
        publicKey: key,
        signingKey: caKeys.privateKey,
        signingAlgorithm: keyAlgorithm,
        extensions,
        ...validity,
      },
      webcrypto,
    );
  const names = hosts.map((value) => ({
    type: /^[\d.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const),
    value,
  }));
  const server = await signed(
    '02',
    'CN=Simulated bank',
    [
      new x509.SubjectAlternativeNameExtension(names),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    ],
    serverKeys.publicKey,
  );
  const customer = await signed(
    '03',
    'CN=Customer of the simulated bank',
    [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
    customerKeys.publicKey,
  );
  return {
    authority: authority.toString('pem'),
    serverKey: await pemOf(serverKeys.privateKey),
    serverCertificate: server.toString('pem'),
    customerKey: await pemOf(customerKeys.privateKey),
    customerCertificate: customer.toString('pem'),
  };
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return `-----BEGIN PRIVATE KEY-----\n${pkcs8.toString('base64')}\n-----END PRIVATE KEY-----\n`;
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}
