/**
 * How one rail uses the messages: versions, settlement, identifiers, what it asks for in a credit transfer.
 * The four profiles are data; `write-messages.ts` does the work. Sources: docs/rails-iso20022.md.
 */
import type { IsoMessageType, IsoRail } from './messages.js';

/** Our bank, as its connection's configuration names it. */
export interface IsoIdentity {
  /** Of our bank: the instructing agent. */
  readonly routingNumber: string;
  /** Of our bank, for SWIFT. */
  readonly bic: string | null;
  /**
   * RTP: the participant id in message ids, 11 characters. FEDWIRE: the source in the IMAD, 8 characters.
   * FEDNOW: the connection party id, 9 characters. Null: derived from the routing number.
   */
  readonly participantId: string | null;
}

export interface IsoSender extends IsoIdentity {
  /** Whether the messages are marked as test messages, where the rail does that. */
  readonly isTest: boolean;
}

export interface MessageIdRequest {
  /** YYYYMMDD, Eastern Time. */
  readonly day: string;
  readonly identity: IsoIdentity;
  /** What the id is derived from where it need not be a number. */
  readonly seed: string;
  /** Unique on the day and connection where the rail counts its messages; 0 where it does not. */
  readonly number: number;
}

export interface IsoRailProfile {
  readonly rail: IsoRail;
  /** The full name of each message, for example `pacs.008.001.08`. */
  readonly versions: Readonly<Record<IsoMessageType, string>>;
  readonly header: {
    readonly version: 'head.001.001.01' | 'head.001.001.02' | 'head.001.001.03';
    /** The other side: the service's own id, or null where it is the receiving bank. */
    readonly to: string | null;
    readonly businessService: ((isTest: boolean) => string) | null;
    readonly marketPractice: { readonly registry: string; readonly id: string } | null;
  };
  readonly settlement: {
    readonly method: 'CLRG' | 'INDA';
    readonly clearingSystem: 'FDN' | 'TCH' | 'FDW' | null;
  };
  readonly paymentType: {
    readonly serviceLevel: string | null;
    readonly localInstrument: string | null;
    readonly categoryPurpose: { readonly business: string; readonly consumer: string } | null;
  };
  readonly chargeBearer: 'SLEV' | 'SHAR';
  /** How banks are named: routing number with or without its scheme, or BIC. */
  readonly agents: 'USABA' | 'member' | 'BIC';
  /** Whether total and settlement date stand in the group header. */
  readonly hasGroupTotals: boolean;
  readonly hasInstructedAmount: boolean;
  readonly hasTransactionId: boolean;
  /**
   * How a message names the transfer it is about. ISO: the original message stands in the transaction, with
   * the end-to-end id and the UETR. RTP: it stands in a group of its own, and there is no end-to-end id.
   */
  readonly originals: 'ISO' | 'RTP';
  /** What the address needs, besides town and country, to be sent at all. */
  readonly addressNeeds: readonly ('street' | 'postalCode' | 'state')[];
  /** Whether a transfer cannot be sent without the contact's address. */
  readonly requiresContactAddress: boolean;
  /** The status of a pacs.002 with which the rail says that it has accepted the transfer. */
  readonly acceptedStatus: string;
  /** Statuses that mean acceptance on this rail, beyond those that always do. */
  readonly alsoAccepted: readonly string[];
  /** Of IsoIdentity.participantId; null where the rail has none. */
  readonly participantIdLength: number | null;
  /** Whether message ids are counted per day. The number then has six digits. */
  readonly countsMessages: boolean;
  readonly dateTime: (at: Date) => string;
  readonly messageId: (request: MessageIdRequest) => string;
  readonly instructionId: (request: {
    readonly day: string;
    readonly identity: IsoIdentity;
    readonly code: string;
  }) => string;
}

/** The text, or the fallback, cut or filled with zeros to `length` characters. */
export function fixedLength(text: string, length: number): string {
  return text.slice(0, length).padEnd(length, '0');
}

/** What keeps the identity from being used on the rail, in words; null when nothing does. */
export function identityProblem(profile: IsoRailProfile, identity: IsoIdentity): string | null {
  const { rail, agents, participantIdLength } = profile;
  const { routingNumber, bic, participantId } = identity;
  if (agents === 'BIC') return bic === null ? `${rail} needs the bic of the bank` : null;
  if (!/^\d{9}$/.test(routingNumber)) return `${rail} needs the routingNumber of the bank`;
  if (participantId === null || participantIdLength === null) return null;
  if (/^[A-Z0-9]+$/.test(participantId) && participantId.length === participantIdLength)
    return null;
  return `the participantId of ${rail} has ${participantIdLength} capital letters and digits: use a connection for each rail that needs one`;
}
