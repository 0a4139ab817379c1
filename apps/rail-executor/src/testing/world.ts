/** A bank, an event store and a database for the executor's specs, with payments to execute. */
import { randomUUID } from 'node:crypto';
import {
  type BankConnection,
  directBankConnection,
  directoryOf,
  firstConnectionName,
} from '@pis/bank-rails';
import { BankSimulator } from '@pis/bank-simulator/module';
import { paymentView, topics } from '@pis/contracts';
import {
  collection,
  collectionDetails,
  type Direction,
  type Payment,
  payment,
  type PaymentDetails,
  type PaymentRail,
  paymentRails,
  type RailDecision,
  settlementPartyId,
  streamIdOf,
  streamPrefixOf,
  type TransferOwner,
  transferOwners,
} from '@pis/domain';
import { memoryEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { type Owner, ownerOf, sealBankAccount } from '@pis/keyring';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, until } from '@pis/local-servers/testing';
import type { Delivery } from '@pis/messaging';
import type { Logger } from '@pis/service-kit';
import { Banks } from '../banks.js';
import { logReader, OpenPayments, type OpenPaymentsOptions } from '../open-payments.js';
import {
  RailExecutor,
  type RailExecutorConfig,
  type RailExecutorOptions,
} from '../rail-executor.js';
import { configuredReview } from '../review/configured-review.js';
import { StaffNotices } from '../staff/staff-notices.js';

export const keyring = testKeyring();

/** Keeps the log as text, so that a test can search it. */
export function recordingLogger(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  const log = (...args: unknown[]) =>
    void lines.push(
      JSON.stringify(args, (_key, value: unknown) =>
        value instanceof Error
          ? { ...value, name: value.name, message: value.message, cause: value.cause }
          : value,
      ),
    );
  return { lines, info: log, warn: log, error: log, debug: log } as unknown as Logger & {
    lines: string[];
  };
}

export interface QueuedMessage {
  readonly paymentId: string;
  readonly eventId: string;
  readonly value: unknown;
  readonly delivery: Delivery;
}

export interface WorldOptions {
  readonly delayMs?: number;
  /** Of a payment without a confirmation. */
  readonly confirmationTimeoutMs?: number;
  /** Whose transfers `queue` makes; payments when absent. */
  readonly owner?: TransferOwner;
  /** The collection that the collections of `queue` present again. */
  readonly reinitiates?: string;
}

export const originatorNumbers = {
  achRoutingNumber: '021000021',
  achAccountNumber: '987654321098',
  swiftCode: 'CHASUS33',
};
export const contactNumbersEnding = (ending: string) => ({
  achRoutingNumber: '011000138',
  achAccountNumber: `5566778${ending}`,
  swiftCode: null,
});

export const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

export async function openWorld({
  delayMs = 0,
  confirmationTimeoutMs = 0,
  owner = 'payment',
  reinitiates,
}: WorldOptions = {}) {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 10);
  const store = sealedStore(memoryEventStore(), keyring);
  const payments = repository(store, owner === 'payment' ? payment : collection);
  const simulator = new BankSimulator(pool, { delayMs });
  const bank = directBankConnection(simulator);
  const logger = recordingLogger();
  const config: RailExecutorConfig = {
    PIS_ENVIRONMENT: 'sandbox',
    PIS_SANDBOX_RAIL_DELAY_MS: delayMs,
    PIS_RETENTION_YEARS: 7,
    // 0 is no valid setting; here it makes a deadline due at once, without waiting for a clock.
    PIS_RAIL_CONFIRMATION_TIMEOUT_MS: confirmationTimeoutMs,
  };

  const review = configuredReview(config, pool);
  const reachable = { bankName: 'A Bank', rails: paymentRails };
  const directory = directoryOf(new Map([[contactNumbersEnding('').achRoutingNumber, reachable]]));
  const executors: RailExecutor[] = [];
  /** Deletes the rows that the executors of this process would delete soon. */
  const settled = () => Promise.all(executors.map((executor) => executor.flush()));

  return {
    database,
    pool,
    store,
    bank,
    simulator,
    review,
    logger,
    config,
    streamIdOf: (transferId: string) => streamIdOf(owner, transferId),

    /** @param changes.bank the only bank, for all rails */
    executor: ({
      bank: only = bank,
      ...changes
    }: Partial<RailExecutorOptions> & { readonly bank?: BankConnection } = {}) => {
      const banks = [{ name: firstConnectionName, rails: paymentRails, connection: only }];
      const executor = new RailExecutor({
        ...{ config, store, keyring, pool, banks, review, directory, logger },
        ...changes,
      });
      // An executor with its own pool is meant to die or lag: no one finishes its work.
      if (changes.pool === undefined) executors.push(executor);
      return executor;
    },

    /** Has the log followed, as an executor does, up to the last event of a payment in it. */
    async followLog(changes: Partial<OpenPaymentsOptions> = {}): Promise<void> {
      const banks = new Banks([
        { name: firstConnectionName, rails: paymentRails, connection: bank },
      ]);
      const notices = new StaffNotices(pool, []);
      const options = { store, pool, banks, notices, gatherMs: 0, ...changes };
      const streamPrefixes = transferOwners.map(streamPrefixOf);
      const log = { after: '', streamPrefixes, pageMax: 100_000 };
      const last = (await options.store.readLog(log)).events.at(-1);
      if (last === undefined) return;
      const ending = new AbortController();
      const following = new OpenPayments(options).follow(ending.signal, () => undefined);
      const reached = async () => {
        const { rows } = await pool.query<{ position: string; id: string | null }>(
          'SELECT position, event_id AS id FROM rail_log_place WHERE reader = $1',
          [logReader],
        );
        const { position = '', id = null } = rows[0] ?? {};
        if (position === last.position) return id === last.id;
        return position > last.position && position <= (await options.store.lastPosition());
      };
      try {
        await Promise.race([following, until(reached, { timeoutMs: 20_000, everyMs: 2 })]);
      } finally {
        ending.abort();
        await following;
      }
    },

    /**
     * A transfer in QUEUED and the message that says so. No message is published of a collection: the message stands
     * for whatever makes an executor look at it.
     */
    async queue(
      ending: string,
      direction: Direction = 'OUTBOUND',
      paymentRail: PaymentRail = 'ACH',
    ): Promise<QueuedMessage> {
      const details =
        owner === 'collection'
          ? await detailsOfCollection(ending, reinitiates)
          : { ...(await paymentDetails(ending, direction)), paymentRail };
      const { paymentId } = details;
      const at = new Date().toISOString();
      const created = await payments.create(
        paymentId,
        { type: 'QueuePayment', at, data: details },
        {
          actor: 'apiKey:test',
          requestId: null,
          correlationId: `request-${paymentId}`,
          causationId: null,
          traceparent: null,
        },
      );
      if ('refused' in created) throw new Error(created.refused);
      return queuedMessage(paymentId, created.events[0]?.id ?? '', created.state);
    },

    /** A payment that waited for its counterparty, who is no saved contact and has answered. */
    async queueByLink(ending: string, direction: Direction): Promise<QueuedMessage> {
      const { contact, ...details } = await paymentDetails(ending, direction);
      if (!contact?.bankAccount) throw new Error('the example has no account');
      const { id: counterpartyId, bankAccount, ...names } = contact;
      const { paymentId, paymentRail } = details;
      const holder = { ...names, companyName: null };
      const token = { tokenDigest: 'd1'.repeat(32), sealedToken: 'v3.sealed-token' };
      const link = { ...token, holder, counterpartyId, createdBy: null };
      const unsaved = { ...details, contactId: null, contact: null, idempotencyKey: null };
      const railDecision: RailDecision = {
        ...{ achService: 'standard', isPossible: true, rejected: [] },
        ...{ expectedSettlementAt: null, nextCutoffAt: null },
      };
      const legalAddress = {
        ...{ addressLine1: '1 Main Street', city: 'Springfield', state: 'IL' },
        ...{ postalCode: '62701', countryCode: 'US' },
      };
      const at = new Date().toISOString();
      const answer = { bankAccount, legalAddress, paymentRail, railDecision };
      const by = systemContext('test');
      const commands = [
        { type: 'AwaitConfirmation', at, data: { ...unsaved, link } },
        { type: 'SubmitCounterparty', at, data: answer },
      ] as const;
      const queued = await payments.record(paymentId, payments.fold([]), commands, by);
      if ('refused' in queued) throw new Error(queued.refused);
      return queuedMessage(paymentId, queued.events.at(-1)?.id ?? '', queued.state);
    },

    /** The types of the payment's events, in order, without the prefix `Payment`. */
    async history(paymentId: string): Promise<string[]> {
      const events = await store.readStream(payments.streamIdOf(paymentId));
      return events.map(({ type }) => type.replace(/^Payment/, ''));
    },

    async payment(paymentId: string): Promise<Payment> {
      const { state } = await payments.load(paymentId);
      if (state === null) throw new Error(`no payment ${paymentId}`);
      return state;
    },

    transfers: async (paymentId: string) =>
      (
        await pool.query<{ status: string; submissions: number; inquired: boolean }>(
          `SELECT status, submissions, inquired_at IS NOT NULL AS inquired
             FROM bank_transfers WHERE payment_id = $1`,
          [paymentId],
        )
      ).rows,

    /** Makes all waiting work of the payment due now: its pause and a dead executor's lease are over. */
    timePasses: (paymentId: string) =>
      pool.query(
        // The columns have milliseconds: now() would be rounded to a time that may be ahead.
        `UPDATE rail_pending
            SET deadline_at = least(deadline_at, date_trunc('milliseconds', now())),
                overdue_at = CASE WHEN overdue_at IS NOT NULL
                  THEN least(overdue_at, date_trunc('milliseconds', now())) END
          WHERE payment_id = $1`,
        [paymentId],
      ),

    /** Connections on which the database's `now()` is ahead. */
    async poolWithClockAhead(ahead: string) {
      await pool.query('CREATE SCHEMA IF NOT EXISTS ahead');
      await pool.query(
        `CREATE OR REPLACE FUNCTION ahead.now() RETURNS timestamptz STABLE LANGUAGE sql
         AS $$ SELECT pg_catalog.now() + interval '${ahead}' $$`,
      );
      const url = new URL(database.url);
      url.searchParams.set('options', '-c search_path=ahead,pg_catalog,public');
      const aheadPool = openTestPool(url.href, 4);
      return { pool: aheadPool, [Symbol.asyncDispose]: () => aheadPool.end() };
    },

    /** Makes the last submission older by this time. */
    age: (paymentId: string, byMs: number) =>
      pool.query(
        `UPDATE rail_pending
            SET last_submission_at = last_submission_at - $2 * interval '1 millisecond'
          WHERE payment_id = $1`,
        [paymentId, byMs],
      ),

    /** How often the bank has moved money. */
    executions: async () =>
      Number(
        (await pool.query<{ n: string | null }>('SELECT sum(executions) AS n FROM bank_transfers'))
          .rows[0]?.n ?? 0,
      ),

    /** The row of the payment, null when nothing waits for it. */
    pending: async (paymentId: string) => {
      await settled();
      return (
        (
          await pool.query<{ stage: string; submissions: number; sealed: boolean }>(
            `SELECT stage, submissions, sealed_at IS NOT NULL AS sealed
             FROM rail_pending WHERE payment_id = $1`,
            [paymentId],
          )
        ).rows[0] ?? null
      );
    },

    count: async (table: string) => {
      await settled();
      return Number(
        (await pool.query<{ n: string }>(`SELECT count(*) AS n FROM ${table}`)).rows[0]?.n,
      );
    },

    /** Makes due what waits for another try or is leased to a dead executor. */
    async makeNotificationsDue(): Promise<void> {
      await pool.query(
        'UPDATE rail_notified_references SET due_at = now() - make_interval(secs => 1), leased_until = NULL',
      );
    },

    /** The bank reports something unasked. */
    async report(reference: string, type: string): Promise<void> {
      await pool.query(
        `INSERT INTO bank_notifications (reference, type, due_at, created_at)
         VALUES ($1, $2, now(), now())`,
        [reference, type],
      );
    },

    async close() {
      await store.close();
      await pool.end();
      await database.drop();
    },
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;

/** One round of each loop. */
export async function goRound(executor: RailExecutor): Promise<void> {
  await executor.feedRound();
  await executor.deadlineRound();
  await executor.sweepRound();
}

/** Runs rounds until a bank without delay has nothing more: return, deadline, late confirmation. */
export async function settle(executor: RailExecutor): Promise<void> {
  for (let round = 0; round < 3; round += 1) await goRound(executor);
}

function sealed(
  owner: Owner,
  numbers: typeof originatorNumbers | ReturnType<typeof contactNumbersEnding>,
) {
  const account = { ...numbers, subType: 'CHECKING' as const };
  return sealBankAccount(keyring, owner, account, 'JPMorgan Chase Bank');
}

/** @param ending of the account of the debited originator */
async function detailsOfCollection(
  ending: string,
  reinitiates: string | null = null,
): Promise<PaymentDetails> {
  const originatorId = randomUUID();
  return collectionDetails({
    collectionId: randomUUID(),
    organizationId: randomUUID(),
    amountMinor: 12_345,
    note: 'Fees 2026-10',
    reinitiates,
    settlement: {
      name: 'Board Operations Inc',
      bankAccount: await sealed(ownerOf.originator(settlementPartyId), originatorNumbers),
    },
    originator: {
      id: originatorId,
      entityType: 'BUSINESS',
      firstName: null,
      lastName: null,
      companyName: 'Acme Corp',
      bankAccount: await sealed(ownerOf.originator(originatorId), contactNumbersEnding(ending)),
    },
  });
}

async function paymentDetails(ending: string, direction: Direction): Promise<PaymentDetails> {
  const paymentId = randomUUID();
  const [originatorId, contactId] = [randomUUID(), randomUUID()];
  return {
    paymentId,
    organizationId: randomUUID(),
    originatorId,
    contactId,
    amountMinor: 12_345,
    discountFeeMinor: 0,
    flatFeeMinor: 25,
    returnFeeMinor: 0,
    currencyCode: 'USD',
    paymentRail: 'ACH',
    direction,
    paymentNote: null,
    externalPaymentId: null,
    idempotencyKey: paymentId,
    originator: {
      id: originatorId,
      entityType: 'BUSINESS',
      firstName: null,
      lastName: null,
      companyName: 'Acme Corp',
      bankAccount: await sealed(ownerOf.originator(originatorId), originatorNumbers),
    },
    contact: {
      id: contactId,
      entityType: 'INDIVIDUAL',
      firstName: 'Ada',
      lastName: 'Lovelace',
      companyName: null,
      bankAccount: await sealed(ownerOf.contact(contactId), contactNumbersEnding(ending)),
    },
  };
}

function queuedMessage(paymentId: string, eventId: string, state: Payment | null): QueuedMessage {
  if (state === null) throw new Error('nothing was queued');
  const value = {
    eventId,
    eventType: 'payment.queued',
    organizationId: state.organizationId,
    position: '00000000000000000001',
    occurredAt: state.createdAt,
    data: { ...paymentView(state), previousStatus: null },
  };
  const delivery: Delivery = {
    topic: topics.payments,
    key: `payment-${paymentId}`,
    value: JSON.stringify(value),
    headers: { 'event-type': 'payment.queued', 'event-id': eventId, traceparent },
    offset: '0',
    attempt: 1,
  };
  return { paymentId, eventId, value, delivery };
}
