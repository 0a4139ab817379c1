/** Payments: the list, one payment with all that is known of it, and what users do with them. */
import {
  dashboardPaymentSchema,
  idempotencyKeyLengthMax,
  type PaymentListItem,
  paymentListSchema,
  type PaymentView,
  simulateSchema,
  type WebhookDeliveryView,
} from '@pis/contracts';
import type { PaymentStatus, RailDecision } from '@pis/domain';
import { z } from 'zod';
import { op } from '../operation.js';

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
  /** What the payer pays on top of the amount, in cents. */
  readonly payerFee: number;
  /** The newest first. */
  readonly accesses: readonly LinkAccessView[];
}

export interface PaymentPage {
  readonly payment: PaymentView;
  /** The oldest first. */
  readonly timeline: readonly TimelineEntry[];
  /** Null for a payment of an older release, and while the counterparty's bank is unknown. */
  readonly railDecision: RailDecision | null;
  /** The reference at the bank, and the connection to it. */
  readonly railReference: string | null;
  readonly connection: string | null;
  readonly deliveries: readonly (WebhookDeliveryView & { readonly url: string })[];
  /** Null for a payment without a link. The URL is shown by `showLink` alone. */
  readonly link: LinkView | null;
}

export interface CreatedPayment {
  readonly paymentId: string;
  readonly status: 'QUEUED' | 'AWAITING_CONFIRMATION';
  /** Null for a payment without a link. */
  readonly url: string | null;
}

export const paymentOperations = {
  listPayments: op<readonly PaymentListItem[]>()({
    method: 'GET',
    path: '/payments',
    role: 'viewer',
    query: paymentListSchema,
  }),
  getPayment: op<PaymentPage>()({ method: 'GET', path: '/payments/:paymentId', role: 'viewer' }),
  /** `idempotencyKey`: chosen by the form, so that sending it twice makes one payment. */
  createPayment: op<CreatedPayment>()({
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
