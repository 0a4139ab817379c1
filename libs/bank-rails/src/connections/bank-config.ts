/** What PIS_BANKS_FILE says about each connection to a bank, checked (banks-schema.ts). */
import type { PaymentRail } from '@pis/domain';
import type { BankTerms } from '../bank-connection.js';
import type { BankCutoffs } from '../calendar/rail-hours.js';

/** Where a secret is: a file, such as a mounted secret, or an environment variable. */
export type SecretReference = { readonly file: string } | { readonly variable: string };

export interface SftpConfig {
  readonly kind: 'sftp';
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly hostKeys: readonly string[];
  readonly credentials:
    | { readonly privateKey: SecretReference; readonly passphrase: SecretReference | null }
    | { readonly password: SecretReference };
  readonly outboundFolder: string;
  readonly inboundFolder: string;
  readonly pollMs: number;
  readonly inboundSettleMs: number;
}

export interface HttpsConfig {
  readonly kind: 'https';
  readonly baseUrl: string;
  /** Path of the PEM file with the authorities that may sign the bank's certificate. */
  readonly caFile: string;
  /** Path of the PEM file with our certificate. */
  readonly certificateFile: string;
  readonly privateKey: SecretReference;
  readonly pollMs: number;
}

/** The simulator's own protocol. Not in production. */
export interface JsonConfig {
  readonly kind: 'json';
  readonly baseUrl: string;
}

export interface AchCompany {
  /** Shown on the account holder's statement: at most 16 characters. */
  readonly name: string;
  /** 10 characters, assigned by the bank. */
  readonly id: string;
}

/** What the bank has assigned us for ACH files. */
export interface AchIdentity {
  readonly odfiRoutingNumber: string;
  readonly immediateOrigin: string;
  readonly immediateOriginName: string;
  readonly immediateDestination: string;
  readonly immediateDestinationName: string;
  /** Of the organizations that `companies` does not name. */
  readonly company: AchCompany;
  /** By organization ID. */
  readonly companies: Readonly<Record<string, AchCompany>>;
  /** SEC code of debits from individuals: how they authorize them. */
  readonly consumerDebits: 'WEB' | 'PPD';
  /** Files are built this long before a cutoff. */
  readonly buildLeadMinutes: number;
  /** A file that the bank has not acknowledged by then is overdue, and no longer holds up the next one. */
  readonly acknowledgementMinutes: number;
  /** Whether the bank answers our files that ask for the state of entries. */
  readonly inquiries: boolean;
  /** Whether the first payment with an account waits for an entry of zero dollars that checks the account. */
  readonly prenotes: boolean;
  readonly limits: { readonly entriesPerFileMax: number; readonly amountPerFileMaxMinor: number };
}

/** Who we are in ISO 20022 messages. */
export interface IsoIdentity {
  /** Of the bank that sends for us. */
  readonly routingNumber: string;
  /** Required for SWIFT. */
  readonly bic: string | null;
  /** RTP and FEDWIRE; null derives it from the routing number. */
  readonly participantId: string | null;
}

export interface BankConnectionConfig {
  readonly bank: string;
  /** Recorded with each payment that goes over it: it never changes. */
  readonly name: string;
  readonly rails: readonly PaymentRail[];
  readonly protocol: SftpConfig | HttpsConfig | JsonConfig;
  readonly terms: BankTerms;
  /** The rail's own hours, where the bank has no earlier ones. */
  readonly cutoffs: BankCutoffs;
  /** Set where `rails` has ACH, except over the simulator's own protocol. */
  readonly ach: AchIdentity | null;
  /** Set where `rails` has another rail, except over the simulator's own protocol. */
  readonly iso: IsoIdentity | null;
}

export interface Banks {
  readonly connections: readonly BankConnectionConfig[];
}
