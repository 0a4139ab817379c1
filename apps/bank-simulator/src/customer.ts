/** Who the sandbox is to the simulated bank, and the banks file with which it reaches the bank's servers. */
import path from 'node:path';
import { simulatedBankTerms } from '@pis/bank-rails';
import { isoRails } from '@pis/bank-rails/iso20022';
import { sftpFolders } from './sftp-server.js';
import { keyFiles } from './simulator-keys.js';

/** What the simulated bank has assigned the sandbox for ACH files. */
export const sandboxAchIdentity = {
  odfiRoutingNumber: '091000019',
  immediateOrigin: '1234567890',
  immediateOriginName: 'PIS SANDBOX',
  immediateDestination: '091000019',
  immediateDestinationName: 'SIMULATED BANK',
  company: { name: 'PIS SANDBOX', id: '1234567890' },
  companies: {},
  consumerDebits: 'WEB',
  buildLeadMinutes: 0,
  acknowledgementMinutes: 5,
  inquiries: true,
  limits: { entriesPerFileMax: 10_000, amountPerFileMaxMinor: 999_999_999_999 },
} as const;

/** Who the sandbox is in ISO 20022 messages. */
export const sandboxIsoIdentity = {
  routingNumber: '091000019',
  bic: 'PISBUS33XXX',
  participantId: null,
} as const;

/** The names of the connections. Payments remember them. */
export const sandboxConnections = { ach: 'sandbox-ach', messages: 'sandbox-messages' } as const;

export const customerUsername = 'sandbox';
const sftpPollSeconds = 0.5;
const httpsPollSeconds = 0.25;

export interface ServerAddresses {
  readonly host: string;
  readonly sftpPort: number;
  readonly httpsPort: number;
  /** Absolute path of the folder with the keys. */
  readonly keysFolder: string;
  readonly sshHostPublicKey: string;
}

/** For PIS_BANKS_FILE. JSON is YAML. */
export function banksFileText(addresses: ServerAddresses): string {
  const { host, sftpPort, httpsPort, keysFolder, sshHostPublicKey } = addresses;
  const file = (name: keyof typeof keyFiles) => path.join(keysFolder, keyFiles[name]);
  const [algorithm = '', key = ''] = sshHostPublicKey.split(' ');
  const banks = [
    {
      name: 'simulated-bank',
      connections: [
        {
          name: sandboxConnections.ach,
          rails: ['ACH'],
          sftp: {
            host,
            port: sftpPort,
            username: customerUsername,
            hostKeys: [`${algorithm} ${key}`.trim()],
            privateKey: { file: file('sshCustomerKey') },
            outboundFolder: sftpFolders.outbound,
            inboundFolder: sftpFolders.inbound,
            pollSeconds: sftpPollSeconds,
            // The bank shows files when they are whole.
            inboundSettleSeconds: 0,
          },
          terms: simulatedBankTerms,
          ach: sandboxAchIdentity,
        },
        {
          name: sandboxConnections.messages,
          rails: isoRails,
          https: {
            baseUrl: `https://${host}:${httpsPort}`,
            caFile: file('authority'),
            certificateFile: file('customerCertificate'),
            privateKey: { file: file('customerKey') },
            pollSeconds: httpsPollSeconds,
          },
          terms: simulatedBankTerms,
          iso20022: sandboxIsoIdentity,
        },
      ],
    },
  ];
  return `${JSON.stringify({ banks }, null, 2)}\n`;
}
