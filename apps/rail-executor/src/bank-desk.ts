/**
 * The work for one bank: its feed, the deadlines of its payments, and the sweep of their rows. Each bank has
 * its own loops, so one that is away or slow holds up only its own payments.
 */
import type { ContactReports, TransferStream } from '@pis/commands';
import type { Keyring } from '@pis/keyring';
import type { Logger } from '@pis/service-kit';
import type pg from 'pg';
import { BankFeed } from './bank-feed.js';
import type { Bank, Banks } from './banks.js';
import { Deadlines } from './deadlines.js';
import type { PaymentExecution } from './payment-execution.js';
import type { PendingTransfers } from './pending-transfers.js';
import { Sweeper } from './sweeper.js';

export interface BankDeskOptions {
  readonly bank: Bank;
  readonly banks: Banks;
  readonly payments: TransferStream;
  readonly contacts: ContactReports;
  readonly keyring: Keyring;
  readonly execution: PaymentExecution;
  readonly pending: PendingTransfers;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  /** Called when the bank has reported something. */
  readonly onReports: () => void;
}

export class BankDesk {
  readonly bank: Bank;
  private readonly feed: BankFeed;
  private readonly deadlines: Deadlines;
  private readonly sweeper: Sweeper;

  constructor(options: BankDeskOptions) {
    const { bank, banks } = options;
    this.bank = bank;
    this.feed = new BankFeed(options);
    const rows = { takesUnknown: banks.all[0] === bank, isOnlyBank: banks.all.length === 1 };
    this.deadlines = new Deadlines({ ...options, ...rows, feed: this.feed });
    this.sweeper = new Sweeper({ ...options, ...rows });
  }

  /** One round of the feed loop, see BankFeed.round. */
  feedRound(): Promise<number | null> {
    return this.bank.watched(() => this.feed.round());
  }

  /** Ends what would outlive the loops. */
  stop(): void {
    this.feed.stop();
  }

  /** One round of the deadline loop, see Deadlines.round. */
  deadlineRound(): Promise<number | null> {
    return this.deadlines.round();
  }

  /** One round of the sweep, see Sweeper.round. */
  sweepRound(): Promise<number | null> {
    return this.sweeper.round();
  }
}
