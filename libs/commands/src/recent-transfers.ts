/**
 * The last known states of transfers under way, bounded by count and age. A state may be stale: another
 * process may have moved the payment on.
 *
 * The age matters when the log is restored from a backup while this process runs. The stream may then have
 * another event at the remembered revision, and an append there would succeed.
 */
import type { Payment, PaymentState, TransferOwner } from '@pis/domain';
import type { EventStore, Loaded } from '@pis/event-store';

/** A transfer that exists, at a revision. */
export interface LoadedTransfer extends Loaded<PaymentState> {
  readonly owner: TransferOwner;
  readonly state: Payment;
}

export interface RecentTransfersOptions {
  readonly rememberedMax?: number;
  /** Monotonic. */
  readonly nowMs?: () => number;
}

/** A transfer takes a few kilobytes. */
const rememberedMaxDefault = 2_000;
const rememberedForMs = 60_000;

export class RecentTransfers {
  /** The longest unchanged first. */
  private readonly transfers = new Map<
    string,
    { readonly loaded: LoadedTransfer; readonly atMs: number }
  >();
  private readonly max: number;
  private readonly nowMs: () => number;

  constructor(options: RecentTransfersOptions) {
    this.max = options.rememberedMax ?? rememberedMaxDefault;
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /** The transfer was read or written just now. Remembered until it has left QUEUED and PROCESSING. */
  noted(loaded: LoadedTransfer): void {
    this.dropOld();
    const { paymentId, status } = loaded.state;
    this.transfers.delete(paymentId);
    if (status !== 'QUEUED' && status !== 'PROCESSING') return;
    this.transfers.set(paymentId, { loaded, atMs: this.nowMs() });
    const [oldest] = this.transfers.keys();
    if (this.transfers.size > this.max && oldest !== undefined) this.transfers.delete(oldest);
  }

  /**
   * Another part of this process has just created the transfer. Such transfers take at most half of the places, so that many of
   * them cannot push out those under way. If the append was answered late, the transfer may have moved on by now.
   */
  created(loaded: LoadedTransfer): void {
    this.dropOld();
    if (this.transfers.has(loaded.state.paymentId)) return;
    if (this.transfers.size < this.max / 2) this.noted(loaded);
  }

  private dropOld(): void {
    for (const [transferId, { atMs }] of this.transfers) {
      if (this.nowMs() - atMs <= rememberedForMs) return;
      this.transfers.delete(transferId);
    }
  }

  /** Null when none is known. */
  find(transferId: string): LoadedTransfer | null {
    const known = this.transfers.get(transferId);
    if (known === undefined || this.nowMs() - known.atMs > rememberedForMs) return null;
    return known.loaded;
  }

  forget(transferId: string): void {
    this.transfers.delete(transferId);
  }

  clear(): void {
    this.transfers.clear();
  }
}

/** What moves the transfers of a store in this process. An app that only creates them remembers none. */
const ofStores = new WeakMap<EventStore, RecentTransfers>();

export function register(store: EventStore, recent: RecentTransfers): void {
  ofStores.set(store, recent);
}

/** The transfer was just created. If it is moved in this process, too, that needs no read. */
export function noteCreated(store: EventStore, loaded: LoadedTransfer): void {
  ofStores.get(store)?.created(loaded);
}
