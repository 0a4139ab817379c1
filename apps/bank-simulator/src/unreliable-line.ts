/**
 * An unreliable line to the simulated bank, for tests. Submissions are lost, arrive late or twice, or
 * arrive after the caller got a refusal. Answers are lost or cannot be read. The bank's
 * guarantee holds: nothing arrives later than `submissionInFlightMaxMs` after the call.
 */
import {
  BankAnswerUnclear,
  BankRefused,
  BankUnavailable,
  type InProcessBank,
  type SubmissionResult,
  type TransferInstruction,
} from '@pis/bank-rails';
import { queueShare } from './ledger.js';

export interface UnreliableLineOptions {
  /** From 0 up to 1; a seeded one makes the mishaps the same each time. */
  readonly random: () => number;
  /** The share of calls that go wrong, from 0 to 1. */
  readonly mishaps: number;
}

const mishaps = [
  'lost',
  'answer lost',
  'answer unclear',
  'late',
  'twice',
  'refused',
  'refused and late',
] as const;

export class UnreliableLine implements InProcessBank {
  readonly terms;
  private readonly arriving = new Set<Promise<void>>();

  constructor(
    private readonly bank: InProcessBank,
    private readonly options: UnreliableLineOptions,
  ) {
    this.terms = bank.terms;
  }

  async submit(instruction: TransferInstruction): Promise<SubmissionResult> {
    if (!this.goesWrong()) return this.bank.submit(instruction);
    const mishap = mishaps[Math.floor(this.options.random() * mishaps.length)] ?? 'lost';
    switch (mishap) {
      case 'lost':
        throw new BankUnavailable('lost');
      case 'answer lost':
        await this.bank.submit(instruction);
        throw new BankUnavailable('the answer was lost');
      case 'answer unclear':
        await this.bank.submit(instruction);
        throw new BankAnswerUnclear('the answer cannot be read');
      case 'late':
        this.arriveLater(instruction);
        throw new BankUnavailable('no answer in time');
      case 'twice':
        this.arriveLater(instruction);
        return this.bank.submit(instruction);
      case 'refused':
        throw new BankRefused('refused');
      case 'refused and late':
        this.arriveLater(instruction);
        throw new BankRefused('refused by somebody on the way');
    }
  }

  inquire(reference: string) {
    return this.unlessWrong(() => this.bank.inquire(reference));
  }

  void(reference: string) {
    return this.unlessWrong(() => this.bank.void(reference));
  }

  notifications(page: { readonly after: string; readonly max: number }) {
    return this.unlessWrong(() => this.bank.notifications(page));
  }

  onNotification(listener: () => void): () => void {
    return this.bank.onNotification(listener);
  }

  /** Resolves when nothing is under way any more. */
  async quiet(): Promise<void> {
    while (this.arriving.size > 0) await Promise.all(this.arriving);
  }

  /** Half of the lost calls had their effect. */
  private async unlessWrong<Result>(call: () => Promise<Result>): Promise<Result> {
    if (!this.goesWrong()) return call();
    if (this.options.random() < 0.5) await call();
    throw new BankUnavailable('no answer');
  }

  private goesWrong(): boolean {
    return this.options.random() < this.options.mishaps;
  }

  private arriveLater(instruction: TransferInstruction): void {
    const lineMaxMs = (1 - queueShare) * this.terms.submissionInFlightMaxMs;
    const calledAt = performance.now();
    const arrival = new Promise<void>((resolve) => {
      setTimeout(() => {
        // On a busy machine the timer itself may be late.
        const isTooLate = performance.now() - calledAt >= lineMaxMs;
        const taken = isTooLate ? Promise.resolve() : this.bank.submit(instruction);
        taken.then(
          () => resolve(),
          () => resolve(),
        );
      }, this.options.random() * lineMaxMs);
    });
    this.arriving.add(arrival);
    void arrival.finally(() => this.arriving.delete(arrival));
  }
}
