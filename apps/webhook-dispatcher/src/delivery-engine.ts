/**
 * The delivery engine makes first attempts at once, and later ones when they are due. It takes them from
 * the table that all dispatchers share.
 *
 *   fan-out ──deliver()──► stored, leased to us ──► (waiting room) ──► attempt ──► recorded: finished,
 *                     └──► stored, free (no room)        ▲              or due again
 *                                   └─────claim──────────┘   also: deliveries that are due again, and
 *                                                            leases that ended because a process died
 *
 * What always holds: an attempt is made only under a lease that covers it and inside a slot. The slot is
 * free again only when the outcome is recorded, so the engine stops while the database is unavailable
 * and forgets nothing. Only the table survives the process.
 */
import { type AgreeingClocks, ClocksDiffer, pause, type WakeUp } from '@pis/postgres';
import {
  type DecidedDelivery,
  type Delivery,
  deliveryOf,
  type DeliveryTable,
  type FanOut,
  type Outcome,
  type Receiver,
} from '@pis/webhook-deliveries';
import { resultOf } from './attempt.js';
import { Claims, type ClaimedWork, type ClaimsDeps } from './claims.js';
import { endExpiredWindows } from './expired-windows.js';
import { FanOutWriter, type FanOutWriterDeps } from './fan-out-writer.js';
import {
  errorPauseMs,
  type ErrorPauses,
  idsOf,
  OutcomeWriter,
  type OutcomeWriterDeps,
} from './outcome-writer.js';
import { TableWatch, type TableWatchOptions } from './table-watch.js';
import type { OwnedEndpoint, Traffic, Ticket } from './traffic.js';
import { WaitingRoom, type WaitingRoomLimits } from './waiting-room.js';

type WatchLimits = TableWatchOptions['limits'];

export interface EngineLimits extends WaitingRoomLimits, WatchLimits, ErrorPauses {
  /** The most rows in one statement. */
  readonly batchMax: number;
  /** The most endpoints with due deliveries that one pass considers. */
  readonly dueEndpointsMax: number;
  /** Longer than any attempt: its time limit, the response, a late record, and clocks that differ. */
  readonly leaseMs: number;
  /** How long after the lease was taken the attempt may begin. */
  readonly beginWithinMs: number;
  /** The pause before a delivery for which no attempt could be made, and its endpoint, are tried again. */
  readonly postponeMs: number;
  /** Deliveries of a disabled endpoint that one statement checks for an ended window. */
  readonly expiredBatchMax: number;
  /** The longest time until deliveries continue after their endpoint was enabled, if nobody told of that. */
  readonly disabledRecheckMs: number;
  /** How long a shutdown waits for attempts in flight before it cuts them. */
  readonly shutdownGraceMs: number;
  /** How long it then waits for their outcomes to be recorded. */
  readonly shutdownRecordMs: number;
}

export interface EngineDeps {
  readonly table: ClaimsDeps['table'] &
    FanOutWriterDeps['table'] &
    OutcomeWriterDeps['table'] &
    Pick<DeliveryTable, 'failExpired'>;
  readonly traffic: Traffic;
  /**
   * Makes one attempt. 'disabled': no attempt before the endpoint is enabled again. Throws when no attempt
   * could be made. Must ask `mayBegin`, whether the lease still covers the attempt, last before the attempt,
   * and release the delivery if it answers no.
   */
  readonly attempt: (
    delivery: Delivery,
    mayBegin: () => boolean,
    signal: AbortSignal,
  ) => Promise<Outcome | 'disabled'>;
  readonly now: () => Date;
  /** Nothing is begun while they differ: see signedTimes. */
  readonly clocks: Pick<AgreeingClocks, 'require'>;
  /** Rung when other processes may have left due deliveries, see TableWatch. */
  readonly wakeUp?: WakeUp;
  /** Rings it in all processes. */
  readonly tellOthers?: () => Promise<void>;
  /** The shortest retry window. */
  readonly windowMinMs: number;
  readonly logError: OutcomeWriterDeps['logError'];
  readonly limits: EngineLimits;
}

export class DeliveryEngine {
  private readonly traffic: Traffic;
  private readonly waiting: WaitingRoom<ClaimedWork>;
  /** Ids of deliveries leased to this process, from before they are stored until they are recorded. */
  private readonly atWork = new Set<string>();
  /** Deliveries that were leased again meanwhile: their lease ended, or the answer to their record is late. */
  private readonly leasedAgain = new Map<string, ClaimedWork>();
  private readonly working = new Set<Promise<void>>();
  private readonly fanOuts: FanOutWriter;
  private readonly claims: Claims;
  private readonly outcomes: OutcomeWriter;
  private readonly watch: TableWatch;
  private readonly stopping = new AbortController();
  private readonly cutting = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly deps: EngineDeps) {
    const { limits, traffic } = deps;
    this.traffic = traffic;
    traffic.whenQuickFreed((endpointId) => this.refill(endpointId));
    this.waiting = new WaitingRoom(limits);
    this.fanOuts = new FanOutWriter(deps);
    const { waiting, atWork } = this;
    this.watch = new TableWatch({
      ...{ limits, wakeUp: deps.wakeUp },
      tellOthers: deps.tellOthers ?? (() => Promise.resolve()),
      onFailure: (error) =>
        deps.logError(error, 'other dispatchers could not be told of deliveries'),
    });
    const pollMs = () => this.watch.pollMs();
    this.claims = new Claims({ ...deps, waiting, atWork, pollMs });
    this.outcomes = new OutcomeWriter(deps, this.cutting.signal);
  }

  start(): void {
    this.loop = this.run();
  }

  /** Takes no more work, waits for attempts in flight (bounded), and returns all other leases. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.giveAllBack();
    const { shutdownGraceMs, shutdownRecordMs } = this.deps.limits;
    if (!(await this.isIdleWithin(shutdownGraceMs))) {
      this.cutting.abort();
      // A delivery that is not recorded by then is retried when its lease ends.
      await this.isIdleWithin(shutdownRecordMs);
    }
    this.watch.stop();
  }

  private async isIdleWithin(limitMs: number): Promise<boolean> {
    const ended = new AbortController();
    const late = pause(limitMs, ended.signal).then(() => false);
    const isIdle = await Promise.race([this.idle().then(() => true), late]);
    ended.abort();
    return isIdle;
  }

  /** Work that ends may start more work: a lease to return. */
  private async idle(): Promise<void> {
    await this.loop;
    while (this.working.size > 0) await Promise.all(this.working);
  }

  /**
   * Stores the deliveries of an event, unless it was fanned out before, and begins their first attempts
   * where there is room.
   * @throws when the tables cannot be written. The event may be stored, and may be passed again
   */
  async deliver(fanOut: FanOut): Promise<void> {
    const { organizationId } = fanOut;
    if (fanOut.receivers.length > 0) this.watch.noticed();
    const isOnTime = fanOut.receivers.length === 0 || (await this.clocksAgree());
    const places = fanOut.receivers.map((receiver) =>
      isOnTime ? this.placeFor({ ...receiver, organizationId }) : null,
    );
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

  /** @throws connection errors of PostgreSQL */
  private async clocksAgree(): Promise<boolean> {
    try {
      await this.deps.clocks.require();
      return true;
    } catch (error) {
      if (error instanceof ClocksDiffer) return false;
      throw error;
    }
  }

  /** A slot, or a place in the waiting room that soon leads to one. Null: the delivery stays in the table. */
  private placeFor(receiver: Receiver & OwnedEndpoint): Ticket | 'waiting' | null {
    const { deliveryId, endpointId } = receiver;
    if (this.stopping.signal.aborted || this.atWork.has(deliveryId)) return null;
    const ticket = this.traffic.tryBegin(receiver);
    const waits =
      ticket === null && this.traffic.isQuick(endpointId) && this.waiting.tryReserve(receiver);
    if (ticket === null && !waits) return null;
    this.atWork.add(deliveryId);
    return ticket ?? 'waiting';
  }

  /** Begins a delivery that has a place, if it was stored and is ours. */
  private async take(place: Ticket | 'waiting', work: ClaimedWork, isOurs: boolean): Promise<void> {
    const { id, endpointId } = work.delivery;
    if (place === 'waiting') this.waiting.giveUp(work.delivery);
    if (!isOurs) {
      this.ended(id);
      if (place !== 'waiting') this.leave(place);
    } else if (place === 'waiting') {
      this.waiting.enter(work.delivery, work);
      this.admit();
      if (this.stopping.signal.aborted) this.giveBack(endpointId);
    } else await this.work(place, work);
  }

  /** Begins waiting deliveries while slots are free. */
  private admit(): void {
    for (const endpointId of this.waiting.endpoints()) {
      if (this.traffic.freeFor('quick') <= 0) return;
      // It would not get a slot soon, so other dispatchers may take it.
      if (!this.traffic.isQuick(endpointId)) this.giveBack(endpointId);
      else this.admitOf(endpointId);
    }
  }

  private admitOf(endpointId: string): void {
    for (
      let first = this.waiting.first(endpointId);
      first;
      first = this.waiting.first(endpointId)
    ) {
      const ticket = this.traffic.tryBegin(first.delivery);
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

  /** Returns a lease. */
  private release({ delivery }: ClaimedWork): void {
    const released = this.record({ delivery, outcome: { kind: 'released', notBefore: null } });
    this.track(
      released.finally(() => {
        this.watch.tellOthers();
        this.ended(delivery.id);
      }),
    );
  }

  /** This process does nothing more under the lease. */
  private ended(id: string): void {
    const again = this.leasedAgain.get(id);
    if (again === undefined) {
      this.atWork.delete(id);
      return;
    }
    // Only the table knows whether that lease still holds. Whoever claims the delivery next begins it.
    this.leasedAgain.delete(id);
    this.release(again);
    this.expectMore(again.delivery.endpointId);
  }

  /** Attempts and records one delivery, in a slot. */
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
    this.refill(ticket.endpointId);
  }

  /** An attempt to the endpoint has made room. */
  private refill(endpointId: string): void {
    this.admit();
    if (this.claims.wants(endpointId)) this.watch.bell.ring();
  }

  /** The table has, or may have, more due deliveries of the endpoint. */
  expectMore(endpointId: string): void {
    this.claims.expect(endpointId);
    this.watch.noticed();
    this.watch.tellOthers();
    if (this.claims.wants(endpointId)) this.watch.bell.ring();
  }

  /** Tracks work that has begun. Never rejects. */
  private track(begun: Promise<void>): void {
    const tracked = begun
      .catch((error: unknown) => this.deps.logError(error, 'a delivery waits for its lease to end'))
      .finally(() => this.working.delete(tracked));
    this.working.add(tracked);
  }

  private async record(decided: DecidedDelivery): Promise<void> {
    const isRecorded = await this.outcomes.record(decided);
    if (!isRecorded || !this.isDueBeforePoll(decided.outcome)) return;
    this.watch.bell.ring();
    this.watch.tellOthers();
  }

  /** Whether the next attempt is due before the loop wakes up by itself. */
  private isDueBeforePoll(outcome: Outcome): boolean {
    if (outcome.kind !== 'retry') return false;
    return outcome.nextAttemptAt.getTime() - this.deps.now().getTime() < this.watch.pollIdleMs();
  }

  private async decide(ticket: Ticket, work: ClaimedWork): Promise<Outcome> {
    const { endpointId } = ticket;
    const outcome = await this.attempt(work);
    const isDisabled = outcome === 'disabled';
    // Its deliveries stay in the table and are not read meanwhile.
    const isNew = isDisabled && this.traffic.close(endpointId, this.deps.limits.disabledRecheckMs);
    const { result, gotStatus } = resultOf(outcome);
    this.traffic.attempted(ticket, result, gotStatus);
    this.refill(endpointId);
    // The loop may sleep for longer than the endpoint is closed.
    if (this.traffic.opensLater(endpointId)) this.watch.bell.ring();
    if (isNew) await this.endExpired(work.delivery);
    return isDisabled ? { kind: 'released', notBefore: null } : outcome;
  }

  private async attempt({ delivery, leasedAtMs }: ClaimedWork): Promise<Outcome | 'disabled'> {
    const { attempt, limits, logError, now } = this.deps;
    // An attempt that begins later may outlast its lease, and another dispatcher would send it too.
    const mayBegin = () => performance.now() - leasedAtMs <= limits.beginWithinMs;
    try {
      return await attempt(delivery, mayBegin, this.cutting.signal);
    } catch (error) {
      logError(error, 'a delivery could not be attempted', idsOf(delivery));
      // What else is due for the endpoint would fail alike: it is not claimed meanwhile.
      this.traffic.close(delivery.endpointId, limits.postponeMs);
      this.watch.tellOthers();
      return { kind: 'released', notBefore: new Date(now().getTime() + limits.postponeMs) };
    }
  }

  /** Of an endpoint that was found disabled. */
  private async endExpired(delivery: Delivery): Promise<void> {
    try {
      await endExpiredWindows(this.deps, delivery.endpointId, this.stopping.signal);
    } catch (error) {
      this.deps.logError(error, 'deliveries whose window has ended wait', idsOf(delivery));
    }
  }

  private async run(): Promise<void> {
    const { limits, logError } = this.deps;
    const { bell } = this.watch;
    let failures = 0;
    while (!this.stopping.signal.aborted)
      try {
        const { rung } = bell;
        const { works, waitMs } = await this.claims.pass();
        failures = 0;
        // What becomes due while its endpoint has no room is not known here.
        if (works.length > 0) this.watch.noticed();
        for (const work of works) this.begin(work);
        if (waitMs > 0) await bell.wait(rung, waitMs, this.stopping.signal);
        if (bell.rung !== rung) this.watch.noticed();
      } catch (error) {
        logError(error, 'due deliveries could not be claimed');
        await pause(errorPauseMs(limits, failures), this.stopping.signal);
        failures += 1;
      }
    // Also what the last pass has leased.
    this.giveAllBack();
  }

  /** Begins a claimed delivery, although other attempts may have taken its slot since the room was measured. */
  private begin(work: ClaimedWork): void {
    const { id, endpointId } = work.delivery;
    if (this.atWork.has(id)) {
      this.leasedAgain.set(id, work);
      return;
    }
    this.atWork.add(id);
    const ticket = this.traffic.tryBegin(work.delivery);
    if (ticket !== null) this.track(this.work(ticket, work));
    else if (this.traffic.isQuick(endpointId)) this.waiting.enter(work.delivery, work);
    else if (this.traffic.room(endpointId) > 0)
      this.track(this.work(this.traffic.begin(work.delivery), work));
    else {
      // The endpoint has turned slow or unhealthy since.
      this.release(work);
      this.expectMore(endpointId);
    }
  }
}
