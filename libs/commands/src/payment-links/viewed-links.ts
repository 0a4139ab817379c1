/**
 * The payments of links that are viewed again and again. A remembered payment is read from its stream as it is now,
 * from the last known event on: what is known is neither opened nor folded again, and the table of links is not asked.
 * Views that come closely one after the other are read together.
 *
 * What always holds:
 * - a payment is as current as a read that began after its request, in every process: a canceled link is gone at once;
 * - the names of a party whose keys were destroyed are not shown from memory;
 * - a payment is forgotten within an hour of its last view, and with it the names in it;
 * - only the digest of a token is in memory.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Payment, payment as payments } from '@pis/domain';
import { type EventStore, type Loaded, type RecordedEvent, repository } from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import type { LinkedPayment } from './link-view.js';

export type LoadedLink = Loaded<Payment | null> & { readonly state: LinkedPayment };

export interface ViewedLinksOptions {
  readonly store: EventStore;
  readonly keyring: Pick<Keyring, 'destroyedOf'>;
  /** Reads a link that is not remembered. Null for an unknown one and for that of a canceled payment. */
  readonly load: (tokenDigest: string) => Promise<LoadedLink | null>;
}

/** About 10 KB each. */
const linksMax = 2_000;
/** After this time without a view a payment is forgotten: at most a third of it later. */
const unusedMaxMs = 45 * 60_000;
/** No payment has so many. */
const newEventsMax = 50;
/** From one read to the next. A view that comes sooner waits for as long at most, and shares the read with others. */
const gatherMs = 20;

interface Remembered {
  readonly loaded: LoadedLink;
  readonly lastEvent: RecordedEvent;
  readonly usedAtMs: number;
}

export class ViewedLinks {
  /** In the order of use, the longest unused first. */
  private readonly remembered = new Map<string, Remembered>();
  private readonly payments;
  private lastReadMs = -Infinity;
  private gathering: Promise<void> | null = null;
  /** Null while there is nothing to forget. */
  private forgetting: NodeJS.Timeout | null = null;

  constructor(private readonly options: ViewedLinksOptions) {
    this.payments = repository(options.store, payments);
  }

  /** Null for an unknown link and for that of a canceled payment. @throws StoreUnavailable */
  async find(tokenDigest: string): Promise<LinkedPayment | null> {
    const known = this.remembered.get(tokenDigest);
    if (known !== undefined) {
      const current = await this.continued(known);
      if (current !== 'unusable') return this.remember(tokenDigest, current);
    }
    return this.remember(tokenDigest, await this.options.load(tokenDigest));
  }

  /** `unusable` when the stream has other events, as after a restore, and once a party was erased. */
  private async continued({ loaded, lastEvent }: Remembered) {
    const { store, keyring } = this.options;
    const { paymentId, originatorId, link } = loaded.state;
    const from = lastEvent.revision;
    await this.turn();
    const [last, ...gained] = await store.readStream(this.payments.streamIdOf(paymentId), {
      from,
      maxCount: 1 + newEventsMax,
      leaveSealedUpTo: from,
    });
    if (last?.id !== lastEvent.id || gained.length === newEventsMax) return 'unusable';
    const owners = [ownerOf.originator(originatorId), ownerOf.contact(link.counterpartyId)];
    if ((await keyring.destroyedOf(owners)).size > 0) return 'unusable';
    if (gained.length === 0) return loaded;
    const folded = this.payments.fold(gained, loaded);
    return isUsable(folded) ? folded : null;
  }

  /** The event store reads in one query what is asked in one turn of the event loop. */
  private async turn(): Promise<void> {
    const waitMs = this.lastReadMs + gatherMs - performance.now();
    if (this.gathering === null && waitMs <= 0) this.lastReadMs = performance.now();
    else await (this.gathering ??= this.gathered(waitMs));
  }

  private async gathered(waitMs: number): Promise<void> {
    await delay(waitMs);
    this.gathering = null;
    this.lastReadMs = performance.now();
  }

  private remember(tokenDigest: string, loaded: LoadedLink | null): LinkedPayment | null {
    this.remembered.delete(tokenDigest);
    const lastEvent = loaded?.lastEvent ?? null;
    if (loaded === null || lastEvent === null) return null;
    if (this.remembered.size >= linksMax)
      for (const longestUnused of this.remembered.keys()) {
        this.remembered.delete(longestUnused);
        break;
      }
    this.remembered.set(tokenDigest, { loaded, lastEvent, usedAtMs: performance.now() });
    this.forgetLater();
    return loaded.state;
  }

  private forgetLater(): void {
    this.forgetting ??= setTimeout(() => this.forgetUnused(), unusedMaxMs / 3).unref();
  }

  private forgetUnused(): void {
    const beforeMs = performance.now() - unusedMaxMs;
    for (const [tokenDigest, { usedAtMs }] of this.remembered) {
      if (usedAtMs > beforeMs) break;
      this.remembered.delete(tokenDigest);
    }
    this.forgetting = null;
    if (this.remembered.size > 0) this.forgetLater();
  }
}

/** Whether the payment has a link that was not canceled. */
export function isUsable(loaded: Loaded<Payment | null>): loaded is LoadedLink {
  const { state } = loaded;
  return state !== null && state.link !== null && state.status !== 'CANCELED';
}
