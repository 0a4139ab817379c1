/**
 * Approval: a payment that was requested in the dashboard and needs a second person before it is created.
 *
 *   WAITING ──► GRANTED ──► CREATED
 *      │           └──────► REFUSED
 *      ├──► CREATED (the setting changed, and the same request created the payment without it)
 *      ├──► REJECTED
 *      ├──► WITHDRAWN
 *      └──► ENDED (a party was erased)
 *
 * The stream is `approval-<id>`, and the ID is that of the payment: one approval can lead to one payment only.
 * Of two people who decide at the same instant one wins, because both append to this stream. A waiting approval
 * expires by the clock, without an event.
 */
import {
  type Aggregate,
  type Decision,
  type DomainCommand,
  type DomainEvent,
  unreachable,
} from '../decider.js';
import type { PaymentParty } from '../party.js';
import type { Direction } from '../payment/payment-details.js';
import type { UserRole } from '../user/user.js';

/** Fixed: nobody extends it. */
export const approvalLifetimeMs = 7 * 24 * 60 * 60 * 1000;

/** Characters of the reason of a rejection. */
export const rejectionReasonMax = 500;

/** Everything that the payment will be made of. */
export interface ApprovalRequest {
  /** Also the ID of the payment. */
  readonly approvalId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly direction: Direction;
  /** Null when the recipient is no saved contact. */
  readonly contactId: string | null;
  /**
   * Whom the payment is for, as it was requested. With the bank account that it goes to, and null when a link will
   * ask for it. An unsaved recipient has a new ID, which its payment will use.
   */
  readonly recipient: PaymentParty;
  /** Fingerprint of the account of the originator, which the payment credits or debits. Absent in older events. */
  readonly originatorAccount?: string;
  readonly amountMinor: number;
  readonly paymentNote: string | null;
  readonly externalPaymentId: string | null;
  /** The user. */
  readonly requestedBy: string;
}

/** Why no payment could be created. */
export interface CreationRefusal {
  readonly refused: string;
  readonly problems: readonly { readonly field: string; readonly issue: string }[];
}

export type ApprovalEvent =
  | DomainEvent<'ApprovalRequested', ApprovalRequest>
  | DomainEvent<'ApprovalGranted', { readonly grantedBy: string }>
  | DomainEvent<'ApprovalRejected', { readonly rejectedBy: string; readonly reason: string }>
  | DomainEvent<'ApprovalWithdrawn', Record<string, never>>
  | DomainEvent<'ApprovalEnded', { readonly cause: 'PARTY_ERASED' }>
  /** What became of the request after it was granted. */
  | DomainEvent<'ApprovedPaymentCreated', Record<string, never>>
  | DomainEvent<'ApprovedPaymentRefused', CreationRefusal>;

export type ApprovalStatus =
  | 'WAITING'
  | 'GRANTED'
  | 'CREATED'
  | 'REFUSED'
  | 'REJECTED'
  | 'WITHDRAWN'
  | 'ENDED';

export interface Approval extends ApprovalRequest {
  readonly status: ApprovalStatus;
  readonly requestedAt: string;
  readonly expiresAt: string;
  /** Who granted or rejected it. */
  readonly decidedBy: string | null;
  /** When it was granted, rejected, withdrawn or ended, or when its payment was found to exist without it. */
  readonly decidedAt: string | null;
  /** Of a rejection. */
  readonly reason: string | null;
  readonly refusal: CreationRefusal | null;
}
export type ApprovalState = Approval | null;

/** Who decides, as the user's stream says now. */
export interface Decider {
  readonly userId: string;
  readonly role: UserRole;
}

export type ApprovalCommand =
  | DomainCommand<'RequestApproval', ApprovalRequest>
  | DomainCommand<'GrantApproval', Decider>
  | DomainCommand<'RejectApproval', Decider & { readonly reason: string }>
  | DomainCommand<'WithdrawApproval', { readonly userId: string }>
  | DomainCommand<'EndApproval', { readonly cause: 'PARTY_ERASED' }>
  | DomainCommand<'NotePaymentCreated', Record<string, never>>
  | DomainCommand<'NotePaymentRefused', CreationRefusal>;

export type ApprovalRefusal =
  | 'APPROVAL_ALREADY_EXISTS'
  | 'APPROVAL_NOT_FOUND'
  /** Somebody was first. */
  | 'APPROVAL_DECIDED'
  | 'APPROVAL_EXPIRED'
  /** Nobody approves or rejects their own request. */
  | 'OWN_REQUEST'
  /** Nobody withdraws the request of somebody else. */
  | 'NOT_OWN_REQUEST'
  | 'ROLE_CANNOT_APPROVE'
  | 'PARTY_ERASED'
  | 'APPROVAL_NOT_GRANTED';

const approvers: readonly UserRole[] = ['approver', 'admin'];

function decide(
  command: ApprovalCommand,
  state: ApprovalState,
): Decision<ApprovalEvent, ApprovalRefusal> {
  const { at } = command;
  if (command.type === 'RequestApproval')
    return state === null
      ? [{ type: 'ApprovalRequested', at, data: command.data }]
      : { refused: 'APPROVAL_ALREADY_EXISTS' };
  if (state === null) return { refused: 'APPROVAL_NOT_FOUND' };
  switch (command.type) {
    case 'GrantApproval': {
      const { userId } = command.data;
      // The answer to the first click may have been lost.
      if (isGranted(state) && state.decidedBy === userId) return [];
      const refused = cannotDecide(state, command.data, at);
      if (refused !== null) return { refused };
      if (state.recipient.erased === true) return { refused: 'PARTY_ERASED' };
      return [{ type: 'ApprovalGranted', at, data: { grantedBy: userId } }];
    }
    case 'RejectApproval': {
      const { userId, reason } = command.data;
      if (state.status === 'REJECTED' && state.decidedBy === userId) return [];
      const refused = cannotDecide(state, command.data, at);
      if (refused !== null) return { refused };
      return [{ type: 'ApprovalRejected', at, data: { rejectedBy: userId, reason } }];
    }
    case 'WithdrawApproval': {
      if (state.requestedBy !== command.data.userId) return { refused: 'NOT_OWN_REQUEST' };
      if (state.status === 'WITHDRAWN') return [];
      const refused = isOver(state, at);
      return refused === null ? [{ type: 'ApprovalWithdrawn', at, data: {} }] : { refused };
    }
    case 'EndApproval':
      // An expired one, too: it has personal data no more, and nobody needs to look at it again.
      return state.status === 'WAITING' ? [{ type: 'ApprovalEnded', at, data: command.data }] : [];
    case 'NotePaymentCreated':
      if (state.status === 'CREATED') return [];
      // A payment that exists is the truth, also after another process has noted a refusal.
      if (!isGranted(state) && state.status !== 'WAITING')
        return { refused: 'APPROVAL_NOT_GRANTED' };
      return [{ type: 'ApprovedPaymentCreated', at, data: {} }];
    case 'NotePaymentRefused':
      if (!isGranted(state)) return { refused: 'APPROVAL_NOT_GRANTED' };
      return state.status === 'GRANTED'
        ? [{ type: 'ApprovedPaymentRefused', at, data: command.data }]
        : [];
    default:
      return unreachable(command);
  }
}

function isGranted({ status }: Approval): boolean {
  return status === 'GRANTED' || status === 'CREATED' || status === 'REFUSED';
}

function cannotDecide(state: Approval, { userId, role }: Decider, at: string) {
  if (!approvers.includes(role)) return 'ROLE_CANNOT_APPROVE';
  return userId === state.requestedBy ? 'OWN_REQUEST' : isOver(state, at);
}

function isOver(state: Approval, at: string): 'APPROVAL_DECIDED' | 'APPROVAL_EXPIRED' | null {
  if (state.status !== 'WAITING') return 'APPROVAL_DECIDED';
  return isExpired(state, at) ? 'APPROVAL_EXPIRED' : null;
}

/** Whether it has waited too long: nobody can decide on it any more. */
export function isExpired({ status, expiresAt }: Approval, at: string): boolean {
  return status === 'WAITING' && at >= expiresAt;
}

/** Waiting requests from this time and before have expired. ISO 8601. */
export function expiredApprovalsAt(at: string): string {
  return new Date(Date.parse(at) - approvalLifetimeMs).toISOString();
}

function evolve(state: ApprovalState, event: ApprovalEvent): ApprovalState {
  const { at } = event;
  if (event.type === 'ApprovalRequested')
    return {
      ...event.data,
      status: 'WAITING',
      requestedAt: at,
      expiresAt: new Date(Date.parse(at) + approvalLifetimeMs).toISOString(),
      ...{ decidedBy: null, decidedAt: null, reason: null, refusal: null },
    };
  if (state === null) throw new Error(`the first event of an approval cannot be ${event.type}`);
  switch (event.type) {
    case 'ApprovalGranted':
      return { ...state, status: 'GRANTED', decidedBy: event.data.grantedBy, decidedAt: at };
    case 'ApprovalRejected': {
      const { rejectedBy, reason } = event.data;
      return { ...state, status: 'REJECTED', decidedBy: rejectedBy, decidedAt: at, reason };
    }
    case 'ApprovalWithdrawn':
      return { ...state, status: 'WITHDRAWN', decidedAt: at };
    case 'ApprovalEnded':
      return { ...state, status: 'ENDED', decidedAt: at };
    case 'ApprovedPaymentCreated':
      return { ...state, status: 'CREATED', refusal: null, decidedAt: state.decidedAt ?? at };
    case 'ApprovedPaymentRefused':
      return { ...state, status: 'REFUSED', refusal: event.data };
    default:
      return unreachable(event);
  }
}

export const approval: Aggregate<ApprovalState, ApprovalCommand, ApprovalEvent, ApprovalRefusal> = {
  category: 'approval',
  initial: null,
  decide,
  evolve,
  schemaVersions: {
    ApprovalRequested: 1,
    ApprovalGranted: 1,
    ApprovalRejected: 1,
    ApprovalWithdrawn: 1,
    ApprovalEnded: 1,
    ApprovedPaymentCreated: 1,
    ApprovedPaymentRefused: 1,
  },
};
