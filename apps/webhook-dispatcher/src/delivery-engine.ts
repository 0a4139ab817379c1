/**
 * The delivery engine: first attempts at once, later ones when they are due, from the table that all
 * dispatchers share.
 *
 *   fan-out ──deliver()──► stored, leased to us ──► (waiting room) ──► attempt ──► recorded: moved to
 *                     └──► stored, free (no room)        ▲              the finished ones, or due again
 *                                   └─────claim──────────┘   also: due again, or leased by one that died
 *
 * What always holds: an attempt is made only under a lease that covers it and inside a slot, and the
 * slot is free again only when what came of the attempt is recorded; so a database that is away stops
 * the engine instead of making it forget. Nothing here survives the process but the table.
 */
import { Claims, type ClaimedWork } from './claims.js';
import {
  type DecidedDelivery,
  type Delivery,
  deliveryOf,
  type PendingPlace,
  type DeliveryTable,
  type FanOut,
  type Outcome,
  type Receiver,
} from '@pis/webhook-deliveries';
import { FanOutWriter } from './fan-out-writer.js';
import { GroupCommit, isDataError } from './group-commit.js';
import type { AttemptResult, Traffic, Ticket } from './traffic.js';
import { WaitingRoom, type WaitingRoomLimits } from './waiting-room.js';
import { pause, WakeUp } from './wake-up.js';

export interface EngineLimits extends WaitingRoomLimits {
  /** Rows in one statement, at most. */
  readonly batchMax: number;
  /** Endpoints looked at in one pass over what is due, at most. */
  readonly dueEndpointsMax: number;
  /** Longer than any attempt takes: time limit, response, a record made late, clocks that differ. */
  readonly leaseMs: number;
  /** How long after the lease was taken its attempt may begin. */
  readonly beginWithinMs: number;
  /** How soon rows of other dispatchers are noticed, at the latest. */
  readonly pollMaxMs: number;
  /** How soon a delivery is tried again when no attempt could be made. */
  readonly postponeMs: number;
  /** Deliveries of a disabled endpoint looked at in one statement, for those whose window has ended. */
  readonly expiredBatchMax: number;
  /** How soon deliveries go on after their endpoint was enabled again, at the latest. */
  readonly disabledRecheckMs: number;
  readonly errorPauseMinMs: number;
  readonly errorPauseMaxMs: number;
  /** What attempts in flight get at a shutdown before they are cut, */
  readonly shutdownGraceMs: number;
  /** and what recording them gets after that. */
  readonly shutdownRecordMs: number;
}

interface DeliveryIds {
  readonly deliveryId: string;
  readonly endpointId: string;
}

export interface EngineDeps {
  readonly table: DeliveryTable;
  readonly traffic: Traffic;
  /**
   * Makes one attempt. 'disabled': none before its endpoint is enabled again. Throws when it could not be made.
   * `mayBegin` is to be asked last: whether the lease still covers it. If not, it is to be released.
   */
  readonly attempt: (
    delivery: Delivery,
    mayBegin: () => boolean,
    signal: AbortSignal,
  ) => Promise<Outcome | 'disabled'>;
  readonly now: () => Date;
  /** The shortest that a delivery is tried for. */
  readonly windowMinMs: number;
  /** @param about which delivery it is, if it is one */
  readonly logError: (error: unknown, what: string, about?: DeliveryIds) => void;
  readonly limits: EngineLimits;
}

export class DeliveryEngine {
  private readonly traffic: Traffic;
  private readonly waiting: WaitingRoom<ClaimedWork>;
  /** Ids of what this process has leased, from before it is stored until it is recorded. */
  private readonly atWork = new Set<string>();
  /** What was leased once more meanwhile: by its own lease's end, or before the answer of its record. */
  private readonly leasedAgain = new Map<string, ClaimedWork>();
  private readonly working = new Set<Promise<void>>();
  private readonly fanOuts: FanOutWriter;
  private readonly claims: Claims;
  private readonly records: GroupCommit<DecidedDelivery, undefined>;
  private readonly bell = new WakeUp();
  private readonly stopping = new AbortController();
  private readonly cutting = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly deps: EngineDeps) {
    const { limits, table, traffic } = deps;
    this.traffic = traffic;
    traffic.whenQuickFreed(() => this.admit());
    this.waiting = new WaitingRoom(limits);
    this.fanOuts = new FanOutWriter(deps);
    const { waiting, atWork } = this;
    this.claims = new Claims({ ...deps, waiting, atWork });
    this.records = new GroupCommit(
      async (decided) => {
        await table.record(decided);
        return decided.map(() => undefined);
      },
      { batchMax: limits.batchMax, isItemsFault: isDataError },
    );
  }

  start(): void {
    this.loop = this.run();
  }

  /** Takes no more, waits for what is in flight (bounded), and gives the leases of the rest back. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.bell.ring();
    this.giveAllBack();
    const { shutdownGraceMs, shutdownRecordMs } = this.deps.limits;
    if (await this.isIdleWithin(shutdownGraceMs)) return;
    this.cutting.abort();
    // What is not recorded by then is tried again when its lease ends.
    await this.isIdleWithin(shutdownRecordMs);
  }

  private async isIdleWithin(limitMs: number): Promise<boolean> {
    const ended = new AbortController();
    const late = pause(limitMs, ended.signal).then(() => false);
    const isIdle = await Promise.race([this.idle().then(() => true), late]);
    ended.abort();
    return isIdle;
  }

  /** What ends may leave more to be done: a lease to be given back. */
  private async idle(): Promise<void> {
    await this.loop;
    while (this.working.size > 0) await Promise.all(this.working);
  }

  /**
   * Stores the deliveries of an event, unless it was fanned out before, and begins their first attempts
   * where there is room.
   * @throws when the tables cannot be written; it may be stored, and may be given again
   */
  async deliver(fanOut: FanOut): Promise<void> {
    const places = fanOut.receivers.map((receiver) => this.placeFor(receiver));
    const stored = this.fanOuts.add(
      fanOut,
      places.map((place) => place !== null),
    );
    const leasedAtMs = performance.now();
    const begun = stored.then(
      (ours) => ours,
      () => new Set<string>(),
    );
    fanOut.receivers.forEach((receiver, index) => {
      const place = places[index];
      if (!place) return;
      const work = { delivery: deliveryOf(fanOut, receiver), leasedAtMs };
      this.track(begun.then((ours) => this.take(place, work, ours.has(work.delivery.id))));
    });
    await stored;
    for (const [index, { endpointId }] of fanOut.receivers.entries())
      if (places[index] === null) this.expectMore(endpointId);
  }

  /** A slot, or a place in the waiting room where its turn will come soon; null: it stays in the table. */
  private placeFor({ deliveryId, endpointId }: Receiver): Ticket | 'waiting' | null {
    if (this.stopping.signal.aborted || this.atWork.has(deliveryId)) return null;
    const ticket = this.traffic.tryBegin(endpointId);
    const waits =
      ticket === null && this.traffic.isQuick(endpointId) && this.waiting.tryReserve(endpointId);
    if (ticket === null && !waits) return null;
    this.atWork.add(deliveryId);
    return ticket ?? 'waiting';
  }

  /** Begins what was given a place, if it was stored and is ours. */
  private async take(place: Ticket | 'waiting', work: ClaimedWork, isOurs: boolean): Promise<void> {
    const { id, endpointId } = work.delivery;
    if (place === 'waiting') this.waiting.giveUp(endpointId);
    if (!isOurs) {
      this.ended(id);
      if (place !== 'waiting') this.leave(place);
    } else if (place === 'waiting') {
      this.waiting.enter(endpointId, work);
      this.admit();
      if (this.stopping.signal.aborted) this.giveBack(endpointId);
    } else await this.work(place, work);
  }

  /** Begins what waits, as far as there are slots. */
  private admit(): void {
    for (const endpointId of this.waiting.endpoints()) {
      if (this.traffic.quickIsFull) return;
      // Its turn would not come soon: others may have it.
      if (!this.traffic.isQuick(endpointId)) this.giveBack(endpointId);
      else this.admitOf(endpointId);
    }
  }

  private admitOf(endpointId: string): void {
    while (this.waiting.has(endpointId)) {
      const ticket = this.traffic.tryBegin(endpointId);
      if (ticket === null) return;
      const work = this.waiting.next(endpointId);
      if (work !== undefined) this.track(this.work(ticket, work));
    }
  }

  private giveAllBack(): void {
    for (const endpointId of this.waiting.endpoints()) this.giveBack(endpointId);
  }

  private giveBack(endpointId: string): void {
    for (let work = this.waiting.next(endpointId); work; work = this.waiting.next(endpointId))
      this.release(work);
    this.expectMore(endpointId);
  }

  /** Gives a lease back. */
  private release({ delivery }: ClaimedWork): void {
    const released = this.record({ delivery, outcome: { kind: 'released', notBefore: null } });
    this.track(released.finally(() => this.ended(delivery.id)));
  }

  /** Nothing more is done here under the lease. */
  private ended(id: string): void {
    const again = this.leasedAgain.get(id);
    if (again === undefined) {
      this.atWork.delete(id);
      return;
    }
    // Whether that lease still stands only the table knows: whoever claims it next begins.
    this.leasedAgain.delete(id);
    this.release(again);
    this.expectMore(again.delivery.endpointId);
  }

  /** Attempts and records, in a slot. */
  private async work(ticket: Ticket, work: ClaimedWork): Promise<void> {
    try {
      await this.record({ delivery: work.delivery, outcome: await this.decide(ticket, work) });
    } finally {
      this.ended(work.delivery.id);
      this.leave(ticket);
    }
  }

  private leave(ticket: Ticket): void {
    this.traffic.end(ticket);
    this.admit();
    if (this.claims.wants(ticket.endpointId)) this.bell.ring();
  }

  /** The table has, or may have, more that is due for the endpoint. */
  expectMore(endpointId: string): void {
    this.claims.expect(endpointId);
    if (this.claims.wants(endpointId)) this.bell.ring();
  }

  /** Keeps count of what has begun. Never rejects. */
  private track(begun: Promise<void>): void {
    const tracked = begun
      .catch((error: unknown) => this.deps.logError(error, 'a delivery waits for its lease to end'))
      .finally(() => this.working.delete(tracked));
    this.working.add(tracked);
  }

  private async record(decided: DecidedDelivery): Promise<void> {
    for (let tries = 0; ; tries += 1)
      try {
        await this.records.add(decided);
        if (this.isDueBeforePoll(decided.outcome)) this.bell.ring();
        return;
      } catch (error) {
        // At a shutdown, or when the row itself is at fault, the lease ends and it is tried again.
        if (this.cutting.signal.aborted || isDataError(error)) {
          this.deps.logError(
            error,
            'a delivery waits for its lease to end',
            idsOf(decided.delivery),
          );
          return;
        }
        this.deps.logError(error, 'an attempt could not be recorded yet', idsOf(decided.delivery));
        await pause(this.errorPauseMs(tries), this.cutting.signal);
      }
  }

  /** The loop may be asleep for longer than the pause before the next attempt. */
  private isDueBeforePoll(outcome: Outcome): boolean {
    if (outcome.kind !== 'retry') return false;
    return outcome.nextAttemptAt.getTime() - this.deps.now().getTime() < this.deps.limits.pollMaxMs;
  }

  private async decide(ticket: Ticket, { delivery, leasedAtMs }: ClaimedWork): Promise<Outcome> {
    const { attempt, limits, logError, now } = this.deps;
    // Held up for longer, the lease may end before the attempt does, and another one send it too.
    const mayBegin = () => performance.now() - leasedAtMs <= limits.beginWithinMs;
    try {
      const outcome = await attempt(delivery, mayBegin, this.cutting.signal);
      if (outcome !== 'disabled') {
        const { result, gotStatus } = resultOf(outcome);
        this.traffic.attempted(ticket, result, gotStatus);
        return outcome;
      }
      await this.rest(delivery.endpointId);
    } catch (error) {
      logError(error, 'a delivery could not be attempted', idsOf(delivery));
      const notBefore = new Date(now().getTime() + limits.postponeMs);
      return { kind: 'released', notBefore };
    }
    return { kind: 'released', notBefore: null };
  }

  /** Leaves the deliveries of a disabled endpoint where they are, without reading them, for a while. */
  private async rest(endpointId: string): Promise<void> {
    const { limits, table, now, windowMinMs } = this.deps;
    const isNew = this.traffic.close(endpointId, limits.disabledRecheckMs);
    if (!isNew) return;
    const time = now();
    const range = { now: time, createdBefore: new Date(time.getTime() - windowMinMs) };
    let after: PendingPlace | null = null;
    do
      after = await table.failExpired(endpointId, { ...range, after, max: limits.expiredBatchMax });
    while (after !== null && !this.stopping.signal.aborted);
  }

  private async run(): Promise<void> {
    const { limits, logError } = this.deps;
    let failures = 0;
    while (!this.stopping.signal.aborted)
      try {
        this.bell.reset();
        const { works, waitMs } = await this.claims.pass();
        failures = 0;
        for (const work of works) this.begin(work);
        if (waitMs > 0) await this.bell.wait(Math.min(waitMs, limits.pollMaxMs));
      } catch (error) {
        logError(error, 'due deliveries could not be claimed');
        await pause(this.errorPauseMs(failures), this.stopping.signal);
        failures += 1;
      }
    // What the last pass has leased, too.
    this.giveAllBack();
  }

  /** What was claimed is begun, whatever has been begun since its room was measured. */
  private begin(work: ClaimedWork): void {
    const { id, endpointId } = work.delivery;
    if (this.atWork.has(id)) {
      this.leasedAgain.set(id, work);
      return;
    }
    this.atWork.add(id);
    const ticket = this.traffic.tryBegin(endpointId);
    if (ticket !== null) this.track(this.work(ticket, work));
    else if (this.traffic.isQuick(endpointId)) this.waiting.enter(endpointId, work);
    else this.track(this.work(this.traffic.begin(endpointId), work));
  }

  private errorPauseMs(failures: number): number {
    const { errorPauseMinMs, errorPauseMaxMs } = this.deps.limits;
    return Math.min(errorPauseMaxMs, errorPauseMinMs * 2 ** failures);
  }
}

function idsOf({ id: deliveryId, endpointId }: Delivery): DeliveryIds {
  return { deliveryId, endpointId };
}

function resultOf(outcome: Outcome): { result: AttemptResult; gotStatus: boolean } {
  const attempt = 'attempt' in outcome ? outcome.attempt : null;
  if (attempt === null) return { result: 'none', gotStatus: false };
  const isAnswered = outcome.kind === 'delivered' || outcome.kind === 'refused';
  return { result: isAnswered ? 'answered' : 'failed', gotStatus: attempt.status !== null };
}
