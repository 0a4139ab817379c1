/**
 * The servers of the simulated bank as a separate process: SFTP for ACH files, HTTPS with client certificates
 * for ISO 20022 messages. At the start they write a banks file, with which rail-executor reaches them.
 */
import { X509Certificate } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import path from 'node:path';
import { ConfigurationError, type Logger } from '@pis/service-kit';
import type { AchDesk } from './ach-desk.js';
import { banksFileName, banksFileText, customerUsername, keyFiles } from './customer.js';
import { startHttpsServer } from './https-server.js';
import type { MessageDesk } from './message-desk.js';
import type { RunningServer } from './running-server.js';
import { startSftpServer } from './sftp-server.js';
import { simulatorKeys } from './simulator-keys.js';

export interface BankServersOptions {
  readonly ach: AchDesk;
  readonly messages: MessageDesk;
  /** The address to listen on. */
  readonly host: string;
  /** The name by which the customer reaches the servers. Undefined: the address, or this machine's own. */
  readonly publicHost?: string | undefined;
  /** 0 picks a free one. */
  readonly sftpPort: number;
  readonly httpsPort: number;
  /** Keys, certificates and the banks file. What is missing is made. */
  readonly folder: string;
  readonly logger: Logger;
}

const everywhere = ['0.0.0.0', '::'];
const localHosts = ['127.0.0.1', 'localhost', 'bank-simulator'];

export class BankServers {
  private running: readonly RunningServer[] = [];

  constructor(private readonly options: BankServersOptions) {}

  async start(): Promise<void> {
    const { ach, messages, host, sftpPort, httpsPort, logger } = this.options;
    const folder = path.resolve(this.options.folder);
    const reachedAt = everywhere.includes(host) ? '127.0.0.1' : host;
    const publicHost = this.options.publicHost ?? reachedAt;
    const keys = await simulatorKeys(folder, [...new Set([publicHost, ...localHosts])]);
    requireCertificateFor(publicHost, keys.serverCertificate, folder);
    const onProblem = (error: unknown) => logger.warn({ err: error }, 'the simulated bank failed');
    const sftp = await startSftpServer({
      ...{ desk: ach, host, port: sftpPort, onProblem },
      ...{ hostKey: keys.sshHostKey, username: customerUsername },
      customerKey: keys.sshCustomerPublicKey,
    });
    this.running = [sftp];
    const https = await startHttpsServer({
      ...{ desk: messages, host, port: httpsPort, onProblem },
      ...{ key: keys.serverKey, certificate: keys.serverCertificate },
      customersAuthority: keys.authority,
    });
    this.running = [sftp, https];
    const file = path.join(folder, banksFileName);
    const text = banksFileText({
      ...{ host: publicHost, sftpPort: sftp.port, httpsPort: https.port, keysFolder: folder },
      sshHostPublicKey: keys.sshHostPublicKey,
    });
    // Whole or not at all: another process may read it now.
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
    const ports = { sftpPort: sftp.port, httpsPort: https.port };
    logger.info({ ...ports, banksFile: file }, 'the simulated bank listens');
  }

  async stop(): Promise<void> {
    await Promise.all(this.running.map((server) => server.close()));
    this.options.ach.close();
    this.options.messages.close();
  }
}

/** An older certificate may name other hosts. The customer would refuse it at every connection. */
function requireCertificateFor(host: string, certificate: string, folder: string): void {
  const x509 = new X509Certificate(certificate);
  const file = path.join(folder, keyFiles.serverCertificate);
  const names = isIP(host) ? x509.checkIP(host) : x509.checkHost(host);
  if (names === undefined)
    throw new ConfigurationError([
      `PIS_BANK_HOST: ${file} does not name ${host}; delete ${folder} to make new keys, and start rail-executor again`,
    ]);
}
