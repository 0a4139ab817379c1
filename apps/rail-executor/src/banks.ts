/**
 * The banks of this system, each behind its circuit. A claim records the name of the connection, and
 * everything after the claim goes over that connection. So a changed configuration moves no payment that may
 * be under way to another bank.
 */
import {
  BankCircuit,
  type BankConnection,
  BankUnavailable,
  firstConnectionName,
  type NamedConnection,
  type Unread,
  UnreadWatch,
} from '@pis/bank-rails';
import type { LoadedTransfer } from '@pis/commands';
import { orderingOrganizationOf, type Payment, type PaymentRail } from '@pis/domain';
import { type ConnectionGate, ConnectionPaused } from './connection-gate.js';

/** Whether something new may be sent over a connection, and whether what was sent is known. */
export type Gate = Pick<ConnectionGate, 'pass' | 'requireRecords'>;

const openGate: Gate = { pass: () => Promise.resolve(), requireRecords: () => Promise.resolve() };

/** A bank that is configured. */
export class Bank {
  readonly name: string;
  readonly circuit: BankCircuit;
  /** Behind the circuit. Call `pass` before a submission. */
  readonly connection: BankConnection;
  private readonly feedWatch = new UnreadWatch();

  constructor(
    readonly named: NamedConnection,
    private readonly gate: Gate,
  ) {
    this.name = named.name;
    this.circuit = new BankCircuit(named.connection);
    this.connection = this.circuit.bank;
  }

  /** @throws ConnectionPaused while nothing new may be sent over it */
  pass(): Promise<void> {
    return this.gate.pass(this.name);
  }

  /** A note has shown that it is paused. @throws ConnectionPaused; BankUnavailable if it was resumed at this moment */
  async refuse(): Promise<never> {
    await this.gate.pass(this.name, 0);
    throw new BankUnavailable(`the connection ${this.name} was paused a moment ago`);
  }

  /** @param maxAgeMs of the answer; a second when absent */
  async isPaused(maxAgeMs?: number): Promise<boolean> {
    try {
      await this.gate.pass(this.name, maxAgeMs);
      return false;
    } catch (error) {
      if (error instanceof ConnectionPaused) return true;
      throw error;
    }
  }

  /** Milliseconds until the rail takes payments; 0 when it does now. */
  opensInMs(rail: PaymentRail, nowMs: number): number {
    return Math.max(0, (this.named.opensAt?.(rail, nowMs) ?? nowMs) - nowMs);
  }

  /** What its configuration lacks to send in the name of an organization; null when it lacks nothing. */
  lacksFor(organizationId: string): string | null {
    return this.named.lacksFor?.(organizationId) ?? null;
  }

  /** Whether the last calls suggest that it is away. */
  get isDoubtful(): boolean {
    return this.feedWatch.unread !== null || this.circuit.state() !== 'closed';
  }

  /** Why what it reports could not be read at the last try; null when it could. */
  get unread(): Unread | null {
    return this.feedWatch.unread ?? this.named.connection.unread?.() ?? null;
  }

  /** Notes whether the feed can be read. */
  watched<Result>(readFeed: () => Promise<Result>): Promise<Result> {
    return this.feedWatch.watched(readFeed);
  }
}

/** No connection takes the rail of a payment. Nothing was sent. */
export class NoBank extends Error {
  override readonly name = 'NoBank';
}

/** The connection of a row or a payment that is not known. */
export const unknownConnection = '';

type Routed = Pick<Payment, 'connection' | 'railReference' | 'paymentRail'>;

export class Banks {
  readonly all: readonly Bank[];
  private readonly byName: ReadonlyMap<string, Bank>;
  private readonly byRail = new Map<PaymentRail, Bank>();
  private readonly formerNames = new Set<string>();

  /** @throws TypeError for names or rails that occur twice */
  constructor(
    connections: readonly NamedConnection[],
    private readonly gate: Gate = openGate,
  ) {
    this.all = connections.map((named) => new Bank(named, gate));
    this.byName = new Map(this.all.map((bank) => [bank.name, bank]));
    if (this.byName.size < this.all.length || this.byName.has(unknownConnection))
      throw new TypeError('each bank needs a name of its own');
    for (const bank of this.all)
      for (const rail of bank.named.rails) {
        if (this.byRail.has(rail)) throw new TypeError(`two banks take ${rail}`);
        this.byRail.set(rail, bank);
      }
  }

  /**
   * For a payment of which there is no record: a bank may have it nevertheless.
   * @throws ConnectionPaused while records may be lost, because the database was restored or failed over
   */
  requireRecords(): Promise<void> {
    return this.gate.requireRecords();
  }

  isConfigured(name: string): boolean {
    return this.byName.has(name);
  }

  /** Notes the connection of a payment: a former one is one that is not configured any more. */
  noticed(name: string): void {
    if (name !== unknownConnection && !this.byName.has(name)) this.formerNames.add(name);
  }

  /** Connections of payments under way that are not configured, as far as they were noticed. */
  get former(): readonly string[] {
    return [...this.formerNames];
  }

  /** The name of the connection for payments of this rail that are not claimed; '' without one. */
  nameForRail(rail: string): string {
    return this.byRail.get(rail as PaymentRail)?.name ?? unknownConnection;
  }

  /** The name of the connection that the payment goes over, '' when there is none. */
  nameOf({ connection, railReference, paymentRail }: Routed): string {
    if (connection !== null) return connection;
    if (railReference !== null && this.byName.has(firstConnectionName)) return firstConnectionName;
    return this.nameForRail(paymentRail);
  }

  /** What the configuration lacks to send a transfer that is not claimed; null when it lacks nothing. */
  missingFor({ owner, state }: LoadedTransfer): string | null {
    const bank = this.byName.get(this.nameOf(state));
    if (bank === undefined) return `no connection to a bank takes ${state.paymentRail}`;
    return bank.lacksFor(orderingOrganizationOf(owner, state));
  }

  /**
   * @throws NoBank when no connection takes the rail of a payment that is not claimed
   * @throws BankUnavailable when the connection of a claimed payment is not configured
   */
  of(payment: Routed): Bank {
    const name = this.nameOf(payment);
    const bank = this.byName.get(name);
    if (bank !== undefined) return bank;
    if (payment.railReference === null)
      throw new NoBank(`no connection to a bank takes ${payment.paymentRail}`);
    throw new BankUnavailable(`the connection "${name}" is not configured`);
  }
}
