/**
 * The last known states of payments under way, bounded by count and age. A state may be stale: another
 * process may have moved the payment on.
 *
 * The age matters when the log is restored from a backup while this process runs. The stream may then have
 * another event at the remembered revision, and an append there would succeed.
 */
import type { Payment, PaymentState } from '@pis/domain';
import type { Loaded } from '@pis/event-store';

/** A payment that exists, at a revision. */
export interface LoadedPayment extends Loaded<PaymentState> {
  readonly state: Payment;
}

export interface RecentPaymentsOptions {
  readonly rememberedMax?: number;
  readonly rememberedForMs?: number;
  /** Monotonic. */
  readonly nowMs?: () => number;
}

/** A payment takes a few kilobytes. */
const rememberedMaxDefault = 2_000;
const rememberedForDefaultMs = 60_000;

export class RecentPayments {
  /** The longest unchanged first. */
  private readonly payments = new Map<
    string,
    { readonly loaded: LoadedPayment; readonly atMs: number }
  >();
  private readonly max: number;
  private readonly forMs: number;
  private readonly nowMs: () => number;

  constructor(options: RecentPaymentsOptions) {
    this.max = options.rememberedMax ?? rememberedMaxDefault;
    this.forMs = options.rememberedForMs ?? rememberedForDefaultMs;
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /** The payment was read or written just now. Remembered until it has left QUEUED and PROCESSING. */
  noted(loaded: LoadedPayment): void {
    const { paymentId, status } = loaded.state;
    this.payments.delete(paymentId);
    if (status !== 'QUEUED' && status !== 'PROCESSING') return;
    this.payments.set(paymentId, { loaded, atMs: this.nowMs() });
    const [oldest] = this.payments.keys();
    if (this.payments.size > this.max && oldest !== undefined) this.payments.delete(oldest);
  }

  /** Null when none is known. */
  find(paymentId: string): LoadedPayment | null {
    const known = this.payments.get(paymentId);
    if (known === undefined || this.nowMs() - known.atMs > this.forMs) return null;
    return known.loaded;
  }

  clear(): void {
    this.payments.clear();
  }
}
