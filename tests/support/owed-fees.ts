/**
 * Originators that owe fees for two months that have ended. Their payments are recorded as completed in those months,
 * in one append each, so no executor has anything to do with them.
 */
import { randomUUID } from 'node:crypto';
import {
  monthAt,
  type Month,
  organization as organizations,
  originator as originators,
  payment as payments,
  type PaymentCommand,
} from '@pis/domain';
import { organizationExample, originatorExample, paymentExample } from '@pis/domain/testing';
import { type EventStore, repository, systemContext } from '@pis/event-store';
import { type Keyring, ownerOf, sealBankAccount } from '@pis/keyring';

export interface OwedFees {
  readonly organizationId: string;
  readonly originatorId: string;
  readonly month: Month;
  /** The last digits of the account that is debited. */
  readonly ending: string;
  /** Minor units; nobody else owes this amount. */
  readonly amountMinor: number;
}

export interface OwingOriginator {
  readonly organizationId: string;
  readonly originatorId: string;
  readonly ending: string;
  readonly amountsMinor: readonly [number, number];
}

const by = systemContext('test');
const dayMs = 86_400_000;
const timeZone = 'America/New_York';
/** More than a month ago, and more than a month apart: two months that have ended, whatever the date is. */
const completedDaysAgo = [73, 40] as const;
const createdDaysAgo = 75;

const daysAgo = (days: number) => new Date(Date.now() - days * dayMs);

export async function createOrganization(store: EventStore, organizationId: string): Promise<void> {
  const data = organizationExample({ organizationId });
  const at = daysAgo(createdDaysAgo).toISOString();
  await repository(store, organizations).create(
    organizationId,
    { type: 'CreateOrganization', at, data },
    by,
  );
}

/** Repeating it changes nothing but adds payments: call it once. */
export async function createOwing(
  store: EventStore,
  keyring: Keyring,
  { organizationId, originatorId, ending, amountsMinor }: OwingOriginator,
): Promise<readonly OwedFees[]> {
  const at = daysAgo(createdDaysAgo).toISOString();
  const account = { achRoutingNumber: '021000021', achAccountNumber: `5566778${ending}` };
  const bankAccount = await sealBankAccount(
    keyring,
    ownerOf.originator(originatorId),
    { ...account, subType: 'CHECKING', swiftCode: null },
    null,
  );
  const data = originatorExample({ originatorId, organizationId, bankAccount });
  const create = { type: 'CreateOriginator', at, data } as const;
  await repository(store, originators).create(originatorId, create, by);
  const owed: OwedFees[] = [];
  for (const [index, amountMinor] of amountsMinor.entries()) {
    const completedAt = daysAgo(completedDaysAgo[index] ?? 0);
    await pay(store, { organizationId, originatorId, amountMinor, at: completedAt.toISOString() });
    const month = monthAt(timeZone, completedAt);
    owed.push({ organizationId, originatorId, month, ending, amountMinor });
  }
  return owed;
}

async function pay(
  store: EventStore,
  payment: {
    readonly organizationId: string;
    readonly originatorId: string;
    readonly amountMinor: number;
    readonly at: string;
  },
): Promise<void> {
  const { organizationId, originatorId, amountMinor, at } = payment;
  const paymentId = randomUUID();
  const fees = { discountFeeMinor: amountMinor, flatFeeMinor: 0, returnFeeMinor: 0 };
  const data = paymentExample({ paymentId, organizationId, originatorId, ...fees });
  const commands: readonly PaymentCommand[] = [
    { type: 'QueuePayment', at, data },
    { type: 'ProcessPayment', at, data: { railReference: paymentId } },
    { type: 'CompletePayment', at, data: {} },
  ];
  const repo = repository(store, payments);
  const done = await repo.record(paymentId, repo.fold([]), commands, by);
  if ('refused' in done) throw new Error(done.refused);
}
