/**
 * A circuit breaker around one connection. While the bank is unavailable, calls fail at once, except for
 * one probe per pause. One payment alone never opens the circuit, because its own request may be the
 * problem.
 */
import { type BankConnection, BankAnswerUnclear, BankUnavailable } from './bank-connection.js';

export interface BankCircuitOptions {
  /** How many different transfers must fail in a row before the circuit opens. */
  readonly failuresMax?: number;
  /** The pause before the first probe, doubling up to pauseMaxMs. */
  readonly pauseInitialMs?: number;
  readonly pauseMaxMs?: number;
  /** Milliseconds that only grow. */
  readonly clock?: () => number;
}

export class BankCircuit {
  /** The bank behind the circuit. Feed, terms and closing go straight to the connection. */
  readonly bank: BankConnection;
  private readonly failed = new Set<string>();
  private probesFailed = 0;
  private closedAgainAt: number | null = null;
  private probing = false;

  constructor(
    private readonly connection: BankConnection,
    private readonly options: BankCircuitOptions = {},
  ) {
    this.bank = {
      ...connection,
      submit: (order) => this.through(order.reference, () => connection.submit(order)),
      inquire: (reference) => this.through(reference, () => connection.inquire(reference)),
      void: (reference) => this.through(reference, () => connection.void(reference)),
    };
  }

  /** 'open' while calls fail at once; 'probe' when the next call goes through and decides. */
  state(): 'closed' | 'open' | 'probe' {
    if (this.closedAgainAt === null) return 'closed';
    return this.probing || this.now() < this.closedAgainAt ? 'open' : 'probe';
  }

  /** Milliseconds until the next probe, 0 when none is waited for. */
  probeInMs(): number {
    return this.closedAgainAt === null ? 0 : Math.max(0, this.closedAgainAt - this.now());
  }

  /**
   * Whether the bank is there.
   * @param reference of the transfer that waits for it
   * @throws BankUnavailable, BankRefused
   */
  async check(reference: string): Promise<void> {
    const { connection } = this;
    if (connection.ping === undefined) {
      await this.bank.inquire(reference);
      return;
    }
    try {
      // A bank that shows signs of life and takes no transfer opens the circuit again with the first one.
      await this.through(
        reference,
        async () => connection.ping?.(),
        () => this.close(),
      );
    } catch (error) {
      // What cannot be read is a sign of life, too.
      if (!(error instanceof BankAnswerUnclear)) throw error;
    }
  }

  private async through<Result>(
    reference: string,
    ask: () => Promise<Result>,
    answered: () => void = () => this.answered(),
  ): Promise<Result> {
    const state = this.state();
    if (state === 'open')
      throw new BankUnavailable('the bank is unavailable and is tried again later');
    const isProbe = state === 'probe';
    if (isProbe) this.probing = true;
    try {
      const result = await ask();
      answered();
      return result;
    } catch (error) {
      if (isAway(error)) this.unanswered(reference, isProbe);
      else this.answered();
      throw error;
    } finally {
      if (isProbe) this.probing = false;
    }
  }

  private answered(): void {
    this.failed.clear();
    this.probesFailed = 0;
    this.close();
  }

  private close(): void {
    this.closedAgainAt = null;
  }

  private unanswered(reference: string, isProbe: boolean): void {
    const { failuresMax = 3, pauseInitialMs = 1_000, pauseMaxMs = 30_000 } = this.options;
    const isOpen = this.closedAgainAt !== null;
    // A call that was sent before the circuit opened says nothing new.
    if (isOpen && !isProbe) return;
    if (!isOpen && this.failed.add(reference).size < failuresMax) return;
    const pauseMs = Math.min(pauseInitialMs * 2 ** Math.min(this.probesFailed, 16), pauseMaxMs);
    this.closedAgainAt = this.now() + pauseMs;
    this.probesFailed += 1;
  }

  private now(): number {
    return (this.options.clock ?? (() => performance.now()))();
  }
}

function isAway(error: unknown): boolean {
  return error instanceof BankUnavailable && !(error instanceof BankAnswerUnclear);
}
