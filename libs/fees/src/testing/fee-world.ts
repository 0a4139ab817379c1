/** A world for specs of fees: an event store in memory, the lists in PostgreSQL, and a clock that the spec sets. */
import { createHash, randomUUID } from 'node:crypto';
import { sandboxDirectory } from '@pis/bank-rails';
import {
  collection as collections,
  type Environment,
  feePeriod as feePeriods,
  type Month,
  organization as organizations,
  originator as originators,
  payment as payments,
  type PaymentCommand,
  settlementAccount as settlementAccounts,
  settlementAccountId,
  settlementPartyId,
} from '@pis/domain';
import {
  linkRequest,
  organizationExample,
  originatorExample,
  paymentCommands,
  paymentExample,
} from '@pis/domain/testing';
import {
  type EventStore,
  memoryEventStore,
  repository,
  sealedStore,
  systemContext,
} from '@pis/event-store';
import { ownerOf, sealBankAccount } from '@pis/keyring';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import {
  directoryProjection,
  feesProjection,
  movementsProjection,
  paymentsProjection,
  ProjectionRunner,
} from '@pis/read-models';
import { FeeCollection, feePeriodIdOf } from '../index.js';

const by = systemContext('test');
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const caughtUpWithinMs = 60_000;

export interface Paid {
  /** The organization of the world when absent. */
  readonly organizationId?: string;
  readonly originatorId: string;
  readonly fees?: {
    readonly discountFeeMinor: number;
    readonly flatFeeMinor: number;
    readonly returnFeeMinor: number;
  };
  /** A request that its payer answered by a link. */
  readonly isLinked?: boolean;
  readonly completedAt?: string;
  readonly returnedAt?: string;
  /** Instead of completing. */
  readonly failedAt?: string;
}

export type FeeWorld = Awaited<ReturnType<typeof feeWorld>>;

export async function feeWorld(createdAt = '2026-08-20T12:00:00.000Z') {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 12);
  const keyring = testKeyring();
  const store: EventStore = sealedStore(memoryEventStore(), keyring);
  const projections = [
    directoryProjection,
    paymentsProjection,
    movementsProjection,
    feesProjection,
  ];
  const runners = projections.map(
    (projection) => new ProjectionRunner({ projection: { ...projection, restMs: 0 }, store, pool }),
  );
  for (const runner of runners) runner.start();
  let nowMs = Date.parse(createdAt);
  const organizationId = randomUUID();
  const failures: unknown[] = [];
  const givenUp: Readonly<Record<string, unknown>>[] = [];
  const debitedTwice: Readonly<Record<string, unknown>>[] = [];

  const sealed = (originatorId: string, achAccountNumber: string) =>
    sealBankAccount(
      keyring,
      ownerOf.originator(originatorId),
      { subType: 'CHECKING', achRoutingNumber: '021000021', achAccountNumber, swiftCode: null },
      null,
    );
  const newOriginator = async (at = createdAt, ofOrganization: string = organizationId) => {
    const originatorId = randomUUID();
    const bankAccount = await sealed(originatorId, '123456789012');
    const data = originatorExample({
      ...{ originatorId, organizationId: ofOrganization, bankAccount, entityType: 'INDIVIDUAL' },
      ...{ firstName: 'Ada', lastName: 'Moreno', companyName: null },
    });
    const command = { type: 'CreateOriginator', at, data } as const;
    await repository(store, originators).create(originatorId, command, by);
    return originatorId;
  };
  const setSettlementAccount = async (name: string, companyId: string) => {
    const bankAccount = await sealed(settlementPartyId, '900080007000');
    const data = { name, companyId, bankAccount };
    const command = { type: 'SetSettlementAccount', at: createdAt, data } as const;
    await repository(store, settlementAccounts).execute(settlementAccountId, command, by);
  };
  const change = (originatorId: string, command: Parameters<typeof originators.decide>[0]) =>
    repository(store, originators).execute(originatorId, command, by);
  const newOrganization = async (id: string = randomUUID()) => {
    const data = organizationExample({ organizationId: id });
    const command = { type: 'CreateOrganization', at: createdAt, data } as const;
    await repository(store, organizations).create(id, command, by);
    return id;
  };
  await newOrganization(organizationId);
  const setTimeZone = (timeZone: string) =>
    repository(store, organizations).execute(
      organizationId,
      { type: 'SetOrganizationTimeZone', at: createdAt, data: { timeZone } },
      by,
    );

  const pay = async ({ originatorId, fees, isLinked = false, ...times }: Paid) => {
    const paymentId = randomUUID();
    const repo = repository(store, payments);
    const owner = { organizationId: times.organizationId ?? organizationId, originatorId };
    const details = paymentExample({ paymentId, ...owner, ...fees });
    const steps: PaymentCommand[] = [
      { type: 'ProcessPayment', at: createdAt, data: { railReference: paymentId } },
    ];
    if (times.failedAt !== undefined) {
      const failure = { failureCode: 'INTERNAL_ERROR', failureReason: 'x' } as const;
      const data = { ...failure, failureMessage: 'x' };
      steps.push({ type: 'FailPayment', at: times.failedAt, data } as PaymentCommand);
    }
    if (times.completedAt !== undefined)
      steps.push({ type: 'CompletePayment', at: times.completedAt, data: {} });
    if (isLinked) {
      const asked = { ...details, direction: 'INBOUND', contactId: null, contact: null } as const;
      const link = { ...linkRequest, tokenDigest: digestOf(paymentId) };
      const data = { ...asked, idempotencyKey: null, link };
      await repo.create(paymentId, { type: 'AwaitConfirmation', at: createdAt, data }, by);
      steps.unshift({ ...paymentCommands.SubmitCounterparty, at: createdAt });
    } else await repo.create(paymentId, { type: 'QueuePayment', at: createdAt, data: details }, by);
    for (const step of steps) await repo.execute(paymentId, step, by);
    if (times.returnedAt !== undefined) await giveBack(paymentId, times.returnedAt);
    return paymentId;
  };
  const giveBack = (paymentId: string, at: string) =>
    repository(store, payments).execute(
      paymentId,
      { type: 'ReturnPayment', at, data: { returnReasonCode: 'R01' } },
      by,
    );

  /** What the bank does with a collection. */
  const settle = async (
    collectionId: string,
    outcome: 'complete' | 'return' | 'fail',
    code = 'R01',
  ) => {
    const repo = repository(store, collections);
    const at = new Date(nowMs).toISOString();
    const { state } = await repo.load(collectionId);
    const commands: PaymentCommand[] = [];
    if (state?.status === 'QUEUED')
      commands.push({ type: 'ProcessPayment', at, data: { railReference: collectionId } });
    if (outcome === 'complete' || (outcome === 'return' && state?.status !== 'COMPLETED'))
      commands.push({ type: 'CompletePayment', at, data: {} });
    if (outcome === 'return')
      commands.push({ type: 'ReturnPayment', at, data: { returnReasonCode: code } });
    if (outcome === 'fail') {
      const data = { failureCode: 'INTERNAL_ERROR', failureMessage: 'x', failureReason: 'x' };
      commands.push({ type: 'FailPayment', at, data } as PaymentCommand);
    }
    for (const command of commands) await repo.execute(collectionId, command, by);
  };

  const collector = ({
    on = store,
    environment = 'production',
  }: { readonly on?: EventStore; readonly environment?: Environment } = {}) =>
    new FeeCollection({
      ...{ store: on, keyring, banks: sandboxDirectory, environment, by },
      sources: { store: on, pool },
      now: () => new Date(nowMs),
      onFailed: (error) => void failures.push(error),
      onGivenUp: (facts) => void givenUp.push(facts),
      onDebitedTwice: (facts) => void debitedTwice.push(facts),
    });
  const caughtUp = async () => {
    const end = await store.lastPosition();
    for (const runner of runners)
      if (!(await runner.waitFor(end, caughtUpWithinMs))) throw new Error('a projection is behind');
  };
  const streams = async (category: string) => {
    const { events } = await store.readLog({ after: '', pageMax: 100_000 });
    const ids = new Set(events.map(({ streamId }) => streamId));
    return [...ids].filter((streamId) => streamId.startsWith(`${category}-`));
  };

  return {
    ...{
      store,
      pool,
      keyring,
      organizationId,
      failures,
      givenUp,
      debitedTwice,
      newOriginator,
      newOrganization,
      change,
      sealed,
    },
    ...{ setSettlementAccount, setTimeZone, pay, giveBack, settle, collector, caughtUp, streams },
    setNow: (at: string) => void (nowMs = Date.parse(at)),
    /** Rounds of the job until nothing changes, with current lists. */
    round: async (environment: Environment = 'sandbox') => {
      await caughtUp();
      const done = await collector({ environment }).round(new AbortController().signal);
      await caughtUp();
      return done;
    },
    periodOf: async (originatorId: string, month: Month) =>
      (await repository(store, feePeriods).load(feePeriodIdOf(originatorId, month))).state,
    collectionState: async (collectionId: string) =>
      (await repository(store, collections).load(collectionId)).state,
    async close() {
      for (const runner of runners) await runner.stop();
      await pool.end();
      await database.drop();
    },
  };
}
