/**
 * The delivery engine: first attempts at once, later ones when they are due, from the table that all
 * dispatchers share.
 *
 *   fan-out ──deliver()──► inserted, leased to us ──► attempt ──► recorded: done, or due again
 *                     └──► inserted, free (no slot)        ▲
 *                                   └─────claim────────────┘   also: due again, or leased by one that died
 *
 * What always holds: an attempt is made only under a lease and inside a slot, and the slot is free
 * again only when what came of the attempt is recorded; so a database that is away stops the engine
 * instead of making it forget. Nothing here survives the process but the table.
 */
import type { Delivery, NewDelivery, Outcome } from './delivery.js';
import type { DecidedDelivery, DeliveryTable, InsertedDelivery } from './delivery-table.js';
import { GroupCommit, isDataError } from './group-commit.js';
import { Slots } from './slots.js';
import { pause, WakeUp } from './wake-up.js';

export interface EngineLimits {
  /** Attempts in flight, in all. */
  readonly inFlightMax: number;
  readonly inFlightPerEndpointMax: number;
  /** Rows in one statement, at most. */
  readonly batchMax: number;
  /** Longer than any attempt takes: time limit, response, a record made late, clocks that differ. */
  readonly leaseMs: number;
  /** How soon rows of other dispatchers are noticed, at the latest. */
  readonly pollMaxMs: number;
  /** How soon a delivery is tried again when no attempt could be made. */
  readonly postponeMs: number;
  /** How soon deliveries go on after their endpoint was enabled again, at the latest. */
  readonly disabledRecheckMs: number;
  readonly errorPauseMinMs: number;
  readonly errorPauseMaxMs: number;
  /** What attempts in flight get at a shutdown before they are cut, */
  readonly shutdownGraceMs: number;
  /** and what recording them gets after that. */
  readonly shutdownRecordMs: number;
}

export interface EngineDeps {
  readonly table: DeliveryTable;
  /** Makes one attempt. 'disabled': none before its endpoint is enabled again. Throws when it could not be made. */
  readonly attempt: (delivery: Delivery, signal: AbortSignal) => Promise<Outcome | 'disabled'>;
  readonly now: () => Date;
  readonly logError: (error: unknown, what: string) => void;
  readonly limits: EngineLimits;
}

export class DeliveryEngine {
  private readonly slots: Slots;
  /** By delivery id: what this process works on, from before its insert until it is recorded. */
  private readonly atWork = new Map<string, Promise<void>>();
  /** Endpoints that have, or may have, more due than their slots take. */
  private readonly crowded = new Set<string>();
  /** Disabled endpoints, and when (monotonic) they are looked at again. */
  private readonly disabledUntilMs = new Map<string, number>();
  private readonly inserts: GroupCommit<InsertedDelivery, boolean>;
  private readonly records: GroupCommit<DecidedDelivery, undefined>;
  private readonly bell = new WakeUp();
  private readonly stopping = new AbortController();
  private readonly cutting = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly deps: EngineDeps) {
    const { limits, table } = deps;
    const options = { batchMax: limits.batchMax, isItemsFault: isDataError };
    this.slots = new Slots({
      inAllMax: limits.inFlightMax,
      perEndpointMax: limits.inFlightPerEndpointMax,
    });
    this.inserts = new GroupCommit(async (rows) => {
      const present = await table.insert(rows);
      return rows.map(({ delivery }) => present.has(delivery.id));
    }, options);
    this.records = new GroupCommit(async (decided) => {
      await table.record(decided);
      return decided.map(() => undefined);
    }, options);
  }

  get inFlight(): number {
    return this.slots.inFlight;
  }

  start(): void {
    this.loop = this.run();
  }

  /** Takes no more, waits for what is in flight (bounded), and gives the leases of the rest back. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.bell.ring();
    const { shutdownGraceMs, shutdownRecordMs } = this.deps.limits;
    if (await this.isIdleWithin(shutdownGraceMs)) return;
    this.cutting.abort();
    // What is not recorded by then is tried again when its lease ends.
    await this.isIdleWithin(shutdownRecordMs);
  }

  private async isIdleWithin(limitMs: number): Promise<boolean> {
    const ended = new AbortController();
    const late = pause(limitMs, ended.signal).then(() => false);
    const idle = this.loop.then(() => Promise.all(this.atWork.values())).then(() => true);
    const isIdle = await Promise.race([idle, late]);
    ended.abort();
    return isIdle;
  }

  /**
   * Stores new deliveries and begins their first attempts where there is room.
   * @throws when the table cannot be written; some may be stored, all may be given again
   */
  async deliver(deliveries: readonly NewDelivery[]): Promise<void> {
    await Promise.all(deliveries.map((delivery) => this.deliverOne(delivery)));
  }

  private async deliverOne(delivery: NewDelivery): Promise<void> {
    const { endpointId, id } = delivery;
    const hasSlot =
      !this.stopping.signal.aborted && !this.atWork.has(id) && this.slots.tryTake(endpointId);
    if (!hasSlot) {
      await this.inserts.add({ delivery, leasedUntil: null });
      this.crowded.add(endpointId);
      this.bell.ring();
      return;
    }
    const leasedUntil = new Date(this.deps.now().getTime() + this.deps.limits.leaseMs);
    const isOurs = this.inserts.add({ delivery, leasedUntil });
    this.work(
      delivery,
      isOurs.catch(() => false),
    );
    await isOurs;
  }

  /** Attempts and records, in a slot already taken, if the delivery is ours. Never rejects. */
  private work(delivery: Delivery, isOurs: Promise<boolean>): void {
    const done = isOurs
      .then((ours) => (ours ? this.attemptAndRecord(delivery) : undefined))
      .catch((error: unknown) => this.deps.logError(error, 'a delivery waits for its lease to end'))
      .finally(() => {
        this.atWork.delete(delivery.id);
        this.slots.give(delivery.endpointId);
        if (this.crowded.has(delivery.endpointId)) this.bell.ring();
      });
    this.atWork.set(delivery.id, done);
  }

  private async attemptAndRecord(delivery: Delivery): Promise<void> {
    const outcome = await this.decide(delivery);
    for (let tries = 0; ; tries += 1)
      try {
        await this.records.add({ delivery, outcome });
        if (this.isDueBeforePoll(outcome)) this.bell.ring();
        return;
      } catch (error) {
        // At a shutdown, or when the row itself is at fault, the lease ends and it is tried again.
        if (this.cutting.signal.aborted || isDataError(error)) throw error;
        this.deps.logError(error, 'an attempt could not be recorded yet');
        await pause(this.errorPauseMs(tries), this.cutting.signal);
      }
  }

  /** The loop may be asleep for longer than the pause before the next attempt. */
  private isDueBeforePoll(outcome: Outcome): boolean {
    if (outcome.kind !== 'retry') return false;
    return outcome.nextAttemptAt.getTime() - this.deps.now().getTime() < this.deps.limits.pollMaxMs;
  }

  private async decide(delivery: Delivery): Promise<Outcome> {
    const { deps } = this;
    try {
      const outcome = await deps.attempt(delivery, this.cutting.signal);
      if (outcome !== 'disabled') return outcome;
      await this.rest(delivery.endpointId);
      return { kind: 'released', notBefore: null };
    } catch (error) {
      deps.logError(error, 'a delivery could not be attempted');
      const notBefore = new Date(deps.now().getTime() + deps.limits.postponeMs);
      return { kind: 'released', notBefore };
    }
  }

  /** Leaves the deliveries of a disabled endpoint where they are, without reading them, for a while. */
  private async rest(endpointId: string): Promise<void> {
    const { limits, table, now } = this.deps;
    const isNew = !this.disabledUntilMs.has(endpointId);
    this.disabledUntilMs.set(endpointId, performance.now() + limits.disabledRecheckMs);
    if (isNew) await table.failExpired(endpointId, now());
  }

  private async run(): Promise<void> {
    const { limits, logError } = this.deps;
    let failures = 0;
    while (!this.stopping.signal.aborted)
      try {
        const waitMs = await this.pass();
        failures = 0;
        if (waitMs > 0) await this.bell.wait(Math.min(waitMs, limits.pollMaxMs));
      } catch (error) {
        logError(error, 'due deliveries could not be claimed');
        await pause(this.errorPauseMs(failures), this.stopping.signal);
        failures += 1;
      }
  }

  /** Claims what is due and begins it. @returns how long there is nothing to do, in ms */
  private async pass(): Promise<number> {
    const { limits, table, now } = this.deps;
    const room = this.slots.room();
    for (const endpointId of this.disabledEndpoints()) room.set(endpointId, 0);
    const full = [...room].filter(([, free]) => free === 0).map(([endpointId]) => endpointId);
    this.bell.reset();
    if (this.slots.free <= 0) {
      for (const endpointId of room.keys()) this.crowded.add(endpointId);
      return limits.pollMaxMs;
    }
    const dueAt = await table.nextDueAt(full);
    const time = now();
    if (dueAt === null) return limits.pollMaxMs;
    if (dueAt > time) return dueAt.getTime() - time.getTime();

    const claimed = await table.claim({
      now: time,
      leasedUntil: new Date(time.getTime() + limits.leaseMs),
      max: Math.min(limits.batchMax, this.slots.free),
      perEndpointMax: limits.inFlightPerEndpointMax,
      room,
    });
    this.crowded.clear();
    for (const endpointId of full) this.crowded.add(endpointId);
    for (const delivery of claimed) {
      this.crowded.add(delivery.endpointId);
      // A lease of ours that ended before its attempt could be recorded: that one is still at it.
      if (this.atWork.has(delivery.id)) continue;
      this.slots.take(delivery.endpointId);
      this.work(delivery, Promise.resolve(true));
    }
    return claimed.length === 0 ? limits.postponeMs : 0;
  }

  private disabledEndpoints(): string[] {
    const nowMs = performance.now();
    for (const [endpointId, untilMs] of this.disabledUntilMs)
      if (untilMs <= nowMs) this.disabledUntilMs.delete(endpointId);
    return [...this.disabledUntilMs.keys()];
  }

  private errorPauseMs(failures: number): number {
    const { errorPauseMinMs, errorPauseMaxMs } = this.deps.limits;
    return Math.min(errorPauseMaxMs, errorPauseMinMs * 2 ** failures);
  }
}
