/**
 * Contact: the party on the other side of a payment, pays or is paid.
 *
 * A contact holds one identity at a time: the keyed hash of its natural key (originator, entity
 * type, name, e-mail, bank account). contact-identity.ts keeps it unique.
 * Reads top-down: events, state, evolve, commands, decide.
 */
import {
  type Aggregate,
  type Decision,
  type DomainCommand,
  type DomainEvent,
  unreachable,
} from '../decider.js';
import {
  decideErasure,
  erasedFields,
  erasureCompleted,
  type ErasureCommand,
  type ErasureEvent,
  type ErasureRefusal,
  erasureRequested,
  type ErasureState,
  notErased,
} from '../erasure.js';
import {
  type BankAccount,
  effectiveChanges,
  type EntityType,
  type PartyChanges,
  type PartyProfile,
  withoutDataKey,
} from '../party.js';
import type { PaymentCorrection } from '../payment/rail-facts.js';

export interface ContactRecord extends PartyProfile {
  readonly contactId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly bankAccount: BankAccount | null;
  /** Keyed hash of the natural key; names the stream `contactIdentity-<identity>`. */
  readonly identity: string;
}

export type ContactEvent =
  | DomainEvent<'ContactCreated', ContactRecord>
  | DomainEvent<'ContactUpdated', { readonly changes: PartyChanges; readonly identity: string }>
  /**
   * Another contact takes over an identity that this one had reserved and not used. No field changes. The
   * event moves the revision, so that an update that is still under way for that identity fails.
   */
  | DomainEvent<'ContactIdentityForfeited', { readonly identity: string }>
  /**
   * Another contact takes over the identity that was reserved for this one, which was never created. This
   * is the first event of the stream, so that a creation that is still under way under this ID fails. The
   * contact is never created after it.
   */
  | DomainEvent<'ContactCreationForfeited', { readonly identity: string }>
  /** The contact's bank says that its account data are wrong. They are not changed: the client decides. */
  | DomainEvent<'ContactCorrectionReported', ReportedCorrection>
  /** The client has read the correction and leaves the account as it is. */
  | DomainEvent<'ContactCorrectionDismissed', AnsweredCorrection>
  /** A payment on the contact's account was returned. */
  | DomainEvent<'ContactReturnReported', ReportedReturn>
  /**
   * The counterparty of a payment link, which is no saved contact, is about to be erased. This is the first
   * event of a stream that holds nothing but the erasure.
   */
  | DomainEvent<'UnsavedContactNoted', UnsavedContact>
  | ErasureEvent<'Contact'>;

export interface ReportedCorrection extends PaymentCorrection {
  /** The payment that it was about. */
  readonly paymentId: string;
}

/** Names a correction: a contact has one at a time. */
export type AnsweredCorrection = Pick<ReportedCorrection, 'paymentId' | 'changeCode'>;

export interface ReportedReturn {
  /** The payment that was returned. */
  readonly paymentId: string;
  readonly returnReasonCode: string | null;
  /** ISO 8601. */
  readonly returnedAt: string;
}

export interface UnsavedContact {
  readonly contactId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly entityType: EntityType;
}

export interface Contact extends ContactRecord, ErasureState {
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The last one; null once the bank account was changed. */
  readonly correction: (ReportedCorrection & { readonly dismissed?: true }) | null;
  /** The last one on this bank account; null without one. */
  readonly lastReturn: ReportedReturn | null;
  /** A counterparty that is known only for its erasure. It is no contact of the organization. */
  readonly unsaved?: true;
}

/** After a return with one of these the account is not used again: see docs/api-decisions.md. */
const inactiveAfter: readonly (string | null)[] = ['R02', 'R03', 'R04', 'R20'];

/** Whether a payment may go to the contact's account without asking the contact. */
export function hasActiveAccount(
  contact: Pick<Contact, 'bankAccount' | 'correction' | 'lastReturn'>,
): boolean {
  const { bankAccount, correction, lastReturn } = contact;
  const isReturned = lastReturn !== null && inactiveAfter.includes(lastReturn.returnReasonCode);
  const isCorrected = correction !== null && correction.dismissed !== true;
  return bankAccount !== null && !isCorrected && !isReturned;
}

export type ContactState = Contact | null;

function evolve(state: ContactState, event: ContactEvent): ContactState {
  if (event.type === 'ContactCreated')
    return {
      ...event.data,
      ...{ createdAt: event.at, updatedAt: event.at, correction: null, lastReturn: null },
      ...notErased,
    };
  if (event.type === 'UnsavedContactNoted') return unsavedContact(event.data, event.at);
  if (state === null && event.type === 'ContactCreationForfeited') return null;
  if (state === null) throw new Error(`the first event of a contact cannot be ${event.type}`);
  switch (event.type) {
    case 'ContactUpdated': {
      const { changes, identity } = event.data;
      const isOtherAccount = changes.bankAccount !== undefined;
      const reports = isOtherAccount ? { correction: null, lastReturn: null } : {};
      return { ...state, ...changes, ...reports, identity, updatedAt: event.at };
    }
    case 'ContactIdentityForfeited':
      return state;
    case 'ContactCorrectionReported':
      return { ...state, correction: event.data };
    case 'ContactCorrectionDismissed':
      return { ...state, correction: state.correction && { ...state.correction, dismissed: true } };
    case 'ContactReturnReported':
      return { ...state, lastReturn: event.data };
    case 'ContactCreationForfeited':
      throw new Error('a contact that was created cannot forfeit its creation');
    case 'ContactErasureRequested':
      return { ...state, ...erasureRequested(event.data) };
    case 'ContactErasureWithdrawn':
      return { ...state, ...notErased };
    case 'ContactErasureConfirmed':
      return { ...state, erasure: 'confirmed' };
    case 'ContactErased':
      return { ...state, ...erasureCompleted(event.at), correction: null, lastReturn: null };
    default:
      return unreachable(event);
  }
}

/** It never had an identity among the saved contacts. */
const noIdentity = '';

function unsavedContact(data: UnsavedContact, at: string): Contact {
  const reports = { correction: null, lastReturn: null };
  return {
    ...{ ...data, ...erasedFields, identity: noIdentity, createdAt: at, updatedAt: at },
    ...{ ...reports, ...notErased, unsaved: true },
  };
}

export type ContactCommand =
  | DomainCommand<'CreateContact', ContactRecord>
  | DomainCommand<'UpdateContact', { readonly changes: PartyChanges; readonly identity: string }>
  | DomainCommand<'ForfeitContactIdentity', { readonly identity: string }>
  | DomainCommand<'ForfeitContactCreation', { readonly identity: string }>
  | DomainCommand<'ReportContactCorrection', ReportedCorrection>
  | DomainCommand<'DismissContactCorrection', AnsweredCorrection>
  | DomainCommand<'ReportContactReturn', ReportedReturn>
  | DomainCommand<'NoteUnsavedContact', UnsavedContact>
  | ErasureCommand;

export type ContactRefusal =
  | 'CONTACT_ALREADY_EXISTS'
  | 'CONTACT_NOT_FOUND'
  /** The contact uses the identity: it is a true duplicate, not a leftover. */
  | 'IDENTITY_IN_USE'
  /** There is none, or a later one: the client has not seen it. */
  | 'CORRECTION_NOT_FOUND'
  | ErasureRefusal;

function decide(
  command: ContactCommand,
  state: ContactState,
): Decision<ContactEvent, ContactRefusal> {
  const { at } = command;
  if (command.type === 'CreateContact')
    return state === null
      ? [{ type: 'ContactCreated', at, data: command.data }]
      : { refused: 'CONTACT_ALREADY_EXISTS' };
  if (command.type === 'ForfeitContactCreation')
    return state === null
      ? [{ type: 'ContactCreationForfeited', at, data: command.data }]
      : { refused: 'CONTACT_ALREADY_EXISTS' };
  if (command.type === 'NoteUnsavedContact')
    return state === null ? [{ type: 'UnsavedContactNoted', at, data: command.data }] : [];
  if (state === null) return { refused: 'CONTACT_NOT_FOUND' };
  switch (command.type) {
    case 'UpdateContact': {
      if (state.erasure !== null || state.unsaved === true) return { refused: 'CONTACT_NOT_FOUND' };
      const { identity } = command.data;
      const changes = effectiveChanges(state, command.data.changes);
      return Object.keys(changes).length === 0
        ? []
        : [{ type: 'ContactUpdated', at, data: { changes, identity } }];
    }
    case 'ReportContactCorrection': {
      // Of somebody who is being erased nothing is noted.
      const isKnown = state.correction?.corrected === command.data.corrected;
      if (isKnown || state.erasure !== null) return [];
      return [{ type: 'ContactCorrectionReported', at, data: command.data }];
    }
    case 'DismissContactCorrection':
      return decideDismissal(state, command.data, at);
    case 'ReportContactReturn': {
      // Returns may be reported twice, and in another order than they happened.
      const known = state.lastReturn;
      const isPast = known !== null && command.data.returnedAt <= known.returnedAt;
      if (isPast || state.erasure !== null) return [];
      return [{ type: 'ContactReturnReported', at, data: command.data }];
    }
    case 'ForfeitContactIdentity':
      return state.identity === command.data.identity && !givesUpItsIdentity(state)
        ? { refused: 'IDENTITY_IN_USE' }
        : [{ type: 'ContactIdentityForfeited', at, data: command.data }];
    case 'RequestErasure':
    case 'WithdrawErasure':
    case 'ConfirmErasure':
    case 'CompleteErasure':
      return decideErasure('Contact', command, state);
    default:
      return unreachable(command);
  }
}

function decideDismissal(
  { correction, erasure }: Contact,
  data: AnsweredCorrection,
  at: string,
): Decision<ContactEvent, ContactRefusal> {
  if (erasure !== null) return { refused: 'CONTACT_NOT_FOUND' };
  const isSeen =
    correction?.paymentId === data.paymentId && correction.changeCode === data.changeCode;
  if (!isSeen) return { refused: 'CORRECTION_NOT_FOUND' };
  return correction.dismissed === true ? [] : [{ type: 'ContactCorrectionDismissed', at, data }];
}

/** From its confirmation on an erasure is never withdrawn: the same person may be created anew. */
function givesUpItsIdentity({ erasure }: Contact): boolean {
  return erasure === 'confirmed' || erasure === 'erased';
}

export const contact: Aggregate<ContactState, ContactCommand, ContactEvent, ContactRefusal> = {
  category: 'contact',
  initial: null,
  decide,
  evolve,
  stateVersion: 6,
  schemaVersions: {
    ContactCreated: 2,
    ContactUpdated: 2,
    ContactIdentityForfeited: 1,
    ContactCreationForfeited: 1,
    ContactCorrectionReported: 1,
    ContactCorrectionDismissed: 1,
    ContactReturnReported: 1,
    UnsavedContactNoted: 1,
    ContactErasureRequested: 1,
    ContactErasureWithdrawn: 1,
    ContactErasureConfirmed: 1,
    ContactErased: 1,
  },
  upcast: (type, _schemaVersion, data) => (type === 'ContactCreated' ? withoutDataKey(data) : data),
};
