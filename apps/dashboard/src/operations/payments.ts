/** Payments: the list, one payment with all that is known of it, and what users do with them. */
import {
  dashboardPaymentSchema,
  idempotencyKeyLengthMax,
  type PaymentListItem,
  paymentListSchema,
  type PaymentView,
  type SimulateRequest,
  simulateSchema,
  type WebhookDeliveryView,
} from '@pis/contracts';
import type {
  AccountHolder,
  PaymentStatus,
  RailDecision,
  RejectedRail,
  ReturnReason,
} from '@pis/domain';
import { z } from 'zod';
import { op } from '../operation.js';
import type { Person } from './approvals.js';

export interface TimelineEntry {
  readonly eventId: string;
  /** For example `PaymentQueued`. */
  readonly type: string;
  /** The status that the event led to; null for a note of staff. */
  readonly status: PaymentStatus | null;
  readonly at: string;
  /** `user:<id>`, `apiKey:<id>`, `system:<app>`. */
  readonly actor: string;
  /** Of a user of this organization. */
  readonly actorEmail: string | null;
  readonly requestId: string | null;
  /** W3C Trace Context. */
  readonly traceId: string | null;
}

export interface LinkAccessView {
  /** A visitor opened or submitted it; a user was shown it. */
  readonly kind: 'open' | 'submit' | 'show';
  /** The first time. */
  readonly at: string;
  readonly lastAt: string;
  /** How often: accesses of one visitor within a short time are one entry. */
  readonly count: number;
  readonly actor: string | null;
  readonly actorEmail: string | null;
  readonly outcome: string | null;
  /** Null for `show`, for viewers, and once the counterparty was erased. */
  readonly visitor: { readonly ip: string; readonly userAgent: string | null } | null;
}

export interface LinkView {
  /** `used` also of a payment that went on after its submission. */
  readonly state: 'open' | 'used' | 'expired' | 'canceled';
  readonly expiresAt: string;
  /** As the requester named them. Null once erased. */
  readonly holder: AccountHolder | null;
  /** What the payer pays on top of the amount, in cents. */
  readonly payerFee: number;
  /** The newest first. */
  readonly accesses: readonly LinkAccessView[];
}

/** A file or message to or from a bank that is about the payment. Never its content. */
export interface BankFileView {
  readonly id: string;
  readonly rail: string;
  readonly way: 'out' | 'in';
  readonly kind: string;
  readonly name: string;
  readonly createdAt: string;
}

export interface BankReferencesView {
  readonly traceNumber: string | null;
  readonly messageId: string | null;
  readonly instructionId: string | null;
  readonly uetr: string | null;
  /** The newest first. */
  readonly files: readonly BankFileView[];
}

/** Money that moved on the originator's account: the transfer, and what each return took back. */
export interface MovementView {
  readonly movementId: string;
  readonly kind: 'transfer' | 'return';
  readonly side: 'credit' | 'debit';
  /** In cents, positive. With the fee that the payer of a link pays. */
  readonly amount: number;
  readonly paymentRail: string;
  /** Of a transfer: the reference that it was submitted under. Of a return: the bank's own, null if it gave none. */
  readonly reference: string | null;
  readonly at: string;
}

/** In cents. */
export interface ReturnedView {
  readonly amount: number;
  /** By banks on the way; 0 when all of it came back. */
  readonly kept: number;
}

/** What the simulated bank may be told to do with the payment now. */
export interface SimulationView {
  readonly outcomes: readonly SimulateRequest['outcome'][];
  /** To choose from. Empty where the payment cannot be returned. */
  readonly returnReasons: readonly ReturnReason[];
}

/** With the reason in words for each rail that was not chosen. */
export interface RailDecisionView extends Omit<RailDecision, 'rejected'> {
  readonly rejected: readonly (RejectedRail & { readonly reason: string })[];
}

export interface PaymentPage {
  readonly payment: PaymentView;
  /** The oldest first. */
  readonly timeline: readonly TimelineEntry[];
  /** Null for a payment of an older release, and while the counterparty's bank is unknown. */
  readonly railDecision: RailDecisionView | null;
  /** The reference at the bank, and the connection to it. */
  readonly railReference: string | null;
  readonly connection: string | null;
  readonly bankReferences: BankReferencesView;
  /** The oldest first. They follow the events within a second or two. */
  readonly movements: readonly MovementView[];
  /** Null for a payment that was not returned. */
  readonly returned: ReturnedView | null;
  /** Null for a payment that was not returned, or without a code. */
  readonly returnReason: ReturnReason | null;
  /** Null in production, and for users who may not simulate. */
  readonly simulation: SimulationView | null;
  readonly deliveries: readonly (WebhookDeliveryView & { readonly url: string })[];
  /** The two users behind it. Null for a payment that needed no approval. */
  readonly approval: { readonly requestedBy: Person; readonly approvedBy: Person } | null;
  /** Null for a payment without a link. The URL is shown by `showLink` alone. */
  readonly link: LinkView | null;
}

/** Above the organization's amount: a second person decides whether the payment is created. */
export interface WaitingPayment {
  readonly approvalId: string;
  readonly status: 'WAITING_FOR_APPROVAL';
}

/** Without the URL of its link, which `showLink` alone shows: each showing is recorded. */
export interface CreatedPayment {
  readonly paymentId: string;
  readonly status: 'QUEUED' | 'AWAITING_CONFIRMATION';
}

export interface ListedPayment extends PaymentListItem {
  /** Whether the payment waits for a counterparty whose link has expired. Its status does not say so. */
  readonly linkExpired: boolean;
}

export const paymentOperations = {
  listPayments: op<readonly ListedPayment[]>()({
    method: 'GET',
    path: '/payments',
    role: 'viewer',
    query: paymentListSchema,
  }),
  getPayment: op<PaymentPage>()({ method: 'GET', path: '/payments/:paymentId', role: 'viewer' }),
  /** `idempotencyKey`: chosen by the form, so that sending it twice makes one payment. */
  createPayment: op<CreatedPayment | WaitingPayment>()({
    method: 'POST',
    path: '/payments',
    role: 'operator',
    body: z.object({
      ...dashboardPaymentSchema.shape,
      idempotencyKey: z.string().min(1).max(idempotencyKeyLengthMax),
    }),
  }),
  cancelPayment: op<PaymentView>()({
    method: 'POST',
    path: '/payments/:paymentId/cancel',
    role: 'operator',
  }),
  /** The URL and its QR code as SVG. Each showing is recorded. */
  showLink: op<{ readonly url: string; readonly qrCode: string }>()({
    method: 'POST',
    path: '/payments/:paymentId/link',
    role: 'operator',
  }),
  simulatePayment: op<PaymentView>()({
    method: 'POST',
    path: '/payments/:paymentId/simulate',
    role: 'operator',
    body: simulateSchema,
    sandboxOnly: true,
  }),
} as const;
