/**
 * Tells staff of payments and collections in doubt, over each channel in digests: the first at once, the next ones after a
 * pause. A digest holds IDs, amounts and statuses, and no personal data.
 */
import type { TransferStream } from '@pis/commands';
import { transferAmountMinor, type TransferOwner, unreachable } from '@pis/domain';
import { isTransient } from '@pis/postgres';
import type { Logger } from '@pis/service-kit';
import type { Batch, Notice, NoticeKind, StaffFailures, StaffNotices } from './staff-notices.js';

export interface Digest {
  readonly subject: string;
  /** Lines for people. */
  readonly text: string;
  readonly payments: readonly DigestedPayment[];
  /** How many more there are. */
  readonly more: number;
}

export interface DigestedPayment {
  /** Of a collection its own ID. */
  readonly paymentId: string;
  /** Null for one that cannot be read. */
  readonly transfer: TransferOwner | null;
  readonly organizationId: string | null;
  readonly kind: NoticeKind;
  /** ISO 8601. */
  readonly since: string;
  /** Now; null for a payment that cannot be read. */
  readonly status: string | null;
  readonly paymentRail: string | null;
  readonly direction: string | null;
  /** Minor units. */
  readonly paymentAmount: number | null;
  /** What the bank moves: for the payer of a link also the processing fee. Minor units. */
  readonly transferAmount: number | null;
  readonly currencyCode: string | null;
  readonly connection: string | null;
  readonly reference: string | null;
}

export interface StaffChannel {
  readonly name: string;
  /** Tells only what another channel names it for. */
  readonly isRepeat?: boolean;
  /**
   * @returns the names of the channels over which to send it again, to those who did not get it
   * @throws Error when nobody got it
   */
  send(digest: Digest): Promise<readonly string[]>;
}

export interface StaffDigestsOptions {
  readonly notices: StaffNotices;
  readonly channels: readonly StaffChannel[];
  readonly payments: Pick<TransferStream, 'load'>;
  readonly logger: Logger;
  /** The pause between two digests over a channel. */
  readonly pauseMs?: number;
}

const pauseDefaultMs = 300_000;
const retryInitialMs = 5_000;
const retryMaxMs = 3_600_000;

export class StaffDigests {
  constructor(private readonly options: StaffDigestsOptions) {}

  /** @throws connection errors of PostgreSQL */
  async round(): Promise<null> {
    await Promise.all(this.options.channels.map((channel) => this.tell(channel)));
    return null;
  }

  /** How often in a row staff could not be told by mail, and over the webhook. @throws connection errors of PostgreSQL */
  failures(): Promise<StaffFailures> {
    return this.options.notices.failures(this.options.channels.map(({ name }) => name));
  }

  private async tell(channel: StaffChannel): Promise<void> {
    const { notices, logger, pauseMs = pauseDefaultMs } = this.options;
    const batch = await notices.claim(channel.name);
    if (batch === null) return;
    let again: readonly string[];
    try {
      again = await channel.send(await this.digestOf(batch));
    } catch (error) {
      const failures = await notices.failed(channel.name, retryInitialMs, retryMaxMs);
      // Not the error itself: it may quote an address with credentials.
      const reason = error instanceof Error ? error.message : String(error);
      logger.error({ channel: channel.name, failures, reason }, 'staff could not be told');
      return;
    }
    await notices.told(channel.name, batch, pauseMs, again);
  }

  private async digestOf({ notices, count }: Batch): Promise<Digest> {
    const payments: DigestedPayment[] = [];
    for (const notice of notices) payments.push(await this.paymentOf(notice));
    const more = count - payments.length;
    const subject = `${count} ${nounFor(payments, count)} in doubt`;
    const lines = payments.map(lineOf);
    if (more > 0) lines.push(`and ${more} more`);
    const text = [
      `${subject}. Look at them with: pis payments in-doubt`,
      ...lines,
      'The bank is asked about them. Never submit one again by hand before the bank has answered.',
    ].join('\n');
    return { subject, text, payments, more };
  }

  private async paymentOf({ paymentId, kind, at }: Notice): Promise<DigestedPayment> {
    const since = at.toISOString();
    try {
      const { state, owner } = await this.options.payments.load(paymentId);
      return {
        ...{ paymentId, transfer: owner, kind, since },
        organizationId: state.organizationId,
        status: state.status,
        paymentRail: state.paymentRail,
        direction: state.direction,
        paymentAmount: state.amountMinor,
        transferAmount: transferAmountMinor(state),
        currencyCode: state.currencyCode,
        connection: state.connection,
        reference: state.railReference,
      };
    } catch (error) {
      if (isTransient(error)) throw error;
      // It is missing from the log, or its events cannot be read. Staff learn of the others all the same.
      const amounts = { paymentAmount: null, transferAmount: null };
      const unknown = { status: null, paymentRail: null, direction: null, ...amounts };
      const rest = { organizationId: null, currencyCode: null, connection: null, reference: null };
      return { paymentId, transfer: null, kind, since, ...unknown, ...rest };
    }
  }
}

/** A collection is not called a payment: no client knows of it. */
function nounFor(listed: readonly DigestedPayment[], count: number): string {
  const collections = listed.filter(({ transfer }) => transfer === 'collection').length;
  const noun = collections === 0 ? 'payment' : collections === count ? 'collection' : 'transfer';
  return count === 1 ? noun : `${noun}s`;
}

function lineOf(payment: DigestedPayment): string {
  const { paymentId, transfer, kind, since, status, paymentRail, direction, connection } = payment;
  const amount =
    payment.transferAmount === null
      ? 'unknown amount'
      : `${(payment.transferAmount / 100).toFixed(2)} ${payment.currencyCode ?? ''}`;
  const bank = connection === null ? '' : ` over ${connection}`;
  const name = transfer === 'collection' ? `collection ${paymentId}` : paymentId;
  const what = `${name}: ${amount}, ${direction ?? '?'}, ${paymentRail ?? '?'}${bank}`;
  return `${what}, ${saying(kind)} since ${since}, now ${status ?? 'unknown, because it cannot be read'}`;
}

function saying(kind: NoticeKind): string {
  switch (kind) {
    case 'in_flight':
      return 'not confirmed in time';
    case 'rejected_late':
      return 'rejected by the bank after its time';
    case 'held':
      return 'held by the bank, which names no time for it,';
    case 'unanswered':
      return 'never answered by the bank, which has forgotten it by now and is not asked any more';
    default:
      return unreachable(kind);
  }
}
