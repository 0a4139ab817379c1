/** Who the sandbox is to the simulated bank, and the banks file with which it reaches the bank's servers. */
import { isIPv6 } from 'node:net';
import path from 'node:path';
import { defaultCutoffs, simulatedBankTerms } from '@pis/bank-rails';
import type { BankConnectionConfig } from '@pis/bank-rails/banks';
import { isoRails } from '@pis/bank-rails/iso20022';

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
  prenotes: false,
  limits: { entriesPerFileMax: 10_000, amountPerFileMaxMinor: 999_999_999_999 },
} as const;

/** Who the sandbox is in ISO 20022 messages. */
const sandboxIsoIdentity = {
  routingNumber: '091000019',
  bic: 'PISBUS33XXX',
  participantId: null,
} as const;

/** The connections to the simulated bank in the same process. Payments remember their names. */
export const sandboxConnections = {
  files: {
    name: 'sandbox-ach',
    rails: ['ACH'],
    terms: simulatedBankTerms,
    cutoffs: defaultCutoffs,
    ach: sandboxAchIdentity,
    iso: null,
  },
  messages: {
    name: 'sandbox-messages',
    rails: isoRails,
    terms: simulatedBankTerms,
    cutoffs: defaultCutoffs,
    ach: null,
    iso: sandboxIsoIdentity,
  },
} as const satisfies Record<string, Omit<BankConnectionConfig, 'bank' | 'protocol'>>;

/** Of the SFTP server, as the customer sees them. */
export const sftpFolders = { outbound: '/outbound', inbound: '/inbound' } as const;

/** The names of the files in the folder of keys. */
export const keyFiles = {
  sshHostKey: 'ssh-host',
  sshHostPublicKey: 'ssh-host.pub',
  sshCustomerKey: 'ssh-customer',
  sshCustomerPublicKey: 'ssh-customer.pub',
  authority: 'authority.pem',
  serverKey: 'server.key',
  serverCertificate: 'server.pem',
  customerKey: 'customer.key',
  customerCertificate: 'customer.pem',
} as const;

/** The banks file, in the same folder. */
export const banksFileName = 'banks.yaml';
export const customerUsername = 'sandbox';
/** A payment waits for up to two looks: of the file before its own, and of its own. */
const sftpPollSeconds = 0.25;
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
          name: sandboxConnections.files.name,
          rails: sandboxConnections.files.rails,
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
          name: sandboxConnections.messages.name,
          rails: sandboxConnections.messages.rails,
          https: {
            baseUrl: `https://${isIPv6(host) ? `[${host}]` : host}:${httpsPort}`,
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
