/** Payments above an amount wait for a second person. */
import {
  type BankAccountView,
  type PartyWithAccountView,
  paymentListSchema,
  textSchema,
} from '@pis/contracts';
import { maxAmountMinor, rejectionReasonMax } from '@pis/domain';
import { z } from 'zod';
import { op } from '../operation.js';

/** `APPROVED`: the payment is about to be created. `REFUSED`: it was approved, and could not be created. */
const approvalStates = [
  'WAITING',
  'APPROVED',
  'CREATED',
  'REFUSED',
  'REJECTED',
  'WITHDRAWN',
  'EXPIRED',
  'ENDED',
] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** A user. The address is null once the user was erased. */
export interface Person {
  readonly userId: string;
  readonly email: string | null;
}

export interface ApprovalView {
  readonly approvalId: string;
  readonly state: ApprovalState;
  readonly originatorId: string;
  readonly direction: 'INBOUND' | 'OUTBOUND';
  /** Null when the recipient is no saved contact. */
  readonly contactId: string | null;
  /** With the account that the payment would go to, masked; null when a link would ask for it. */
  readonly recipient: PartyWithAccountView;
  /** Cents. */
  readonly paymentAmount: number;
  readonly paymentNote: string | null;
  readonly externalPaymentId: string | null;
  readonly requestedBy: Person;
  readonly requestedAt: string;
  readonly expiresAt: string;
  /** Who approved or rejected it. */
  readonly decidedBy: Person | null;
  readonly decidedAt: string | null;
  /** Of a rejection. */
  readonly reason: string | null;
  /** Why the payment could not be created. */
  readonly refusal: {
    readonly refused: string;
    readonly problems: readonly { readonly field: string; readonly issue: string }[];
  } | null;
  /** Once it was created. */
  readonly paymentId: string | null;
  /** Whether the user who asks may approve or reject it now. */
  readonly mayDecide: boolean;
  readonly mayWithdraw: boolean;
}

export interface ApprovalPage extends ApprovalView {
  /** Null once the originator was erased. */
  readonly originatorName: string | null;
  /** Of the originator, masked: the approval holds for it alone. Null once the originator has another one, or was erased. */
  readonly originatorAccount: BankAccountView | null;
}

export interface ApprovalSettings {
  /** Cents. A payment of more needs an approval. Null: none does. */
  readonly amountAbove: number | null;
}

const amount = z.number().refine(Number.isInteger, 'validation_integer').min(0).max(maxAmountMinor);
const { cursor, limit } = paymentListSchema.shape;

export const approvalOperations = {
  listApprovals: op<readonly ApprovalView[]>()({
    method: 'GET',
    path: '/approvals',
    role: 'viewer',
    query: z.object({ cursor, limit, state: z.enum(approvalStates).optional() }),
  }),
  /** How many wait for the user who asks: nothing waits for somebody who cannot approve. */
  countApprovals: op<{ readonly waiting: number; readonly isCapped: boolean }>()({
    method: 'GET',
    path: '/me/approvals',
    role: 'viewer',
  }),
  getApproval: op<ApprovalPage>()({
    method: 'GET',
    path: '/approvals/:approvalId',
    role: 'viewer',
  }),
  /** Nobody approves or rejects their own request. */
  approve: op<ApprovalView>()({
    method: 'POST',
    path: '/approvals/:approvalId/approve',
    role: 'approver',
  }),
  reject: op<ApprovalView>()({
    method: 'POST',
    path: '/approvals/:approvalId/reject',
    role: 'approver',
    body: z.object({ reason: textSchema(1, rejectionReasonMax) }),
  }),
  /** Only who requested it. */
  withdraw: op<ApprovalView>()({
    method: 'POST',
    path: '/approvals/:approvalId/withdraw',
    role: 'operator',
  }),
  getApprovalSettings: op<ApprovalSettings>()({
    method: 'GET',
    path: '/settings/approvals',
    role: 'viewer',
  }),
  changeApprovalSettings: op<ApprovalSettings>()({
    method: 'PATCH',
    path: '/settings/approvals',
    role: 'admin',
    body: z.object({ amountAbove: amount.nullable() }),
  }),
} as const;
