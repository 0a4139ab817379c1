/** For the specs of approvals: the world of links, users, and an amount above which a second person is needed. */
import { randomUUID } from 'node:crypto';
import { user as users, type UserRole } from '@pis/domain';
import { type EventStore, repository, StreamStates } from '@pis/event-store';
import { setOrganizationApprovals } from '../organization-approvals.js';
import { PaymentApprovals } from '../payment-approvals/payment-approvals.js';
import { PaymentLinks, type PaymentLinksOptions } from '../payment-links/payment-links.js';
import { unrefused } from '../use-case.js';
import { by, linkWorld } from './link-world.js';

export const amountAbove = 5_000;

export async function approvalWorld(overrides: Partial<PaymentLinksOptions> = {}) {
  const world = await linkWorld(overrides);
  const { store, organizationId, links, options, clock } = world;
  /** Another process, on a store of its own. */
  const processOn = (own: EventStore) =>
    new PaymentApprovals({
      ...{ ...options, store: own, clock: () => clock.at },
      links: new PaymentLinks({ ...options, store: own, states: new StreamStates() }),
    });
  const approvals = new PaymentApprovals({ ...options, links, clock: () => clock.at });
  const setAmount = async (amount: number | null) =>
    unrefused(
      await setOrganizationApprovals({ store, by }, { organizationId, amountAbove: amount }),
    );
  await setAmount(amountAbove);
  const newUser = async (role: UserRole, of = organizationId) => {
    const userId = randomUUID();
    const data = { userId, organizationId: of, email: `${userId}@example.com`, role };
    const create = { type: 'CreateUser', at: clock.at, data } as const;
    unrefused(await repository(store, users).create(userId, create, by));
    return { userId };
  };
  const [ada, bob, cleo] = [
    await newUser('operator'),
    await newUser('approver'),
    await newUser('admin'),
  ];
  const ask = (changes: object = {}, idempotencyKey: string = randomUUID(), user = ada) =>
    approvals.request(
      organizationId,
      world.requestOf(changes),
      { ...user, idempotencyKey },
      { ...by, actor: `user:${user.userId}` },
    );
  /** The ID of an approval that waits. */
  const waiting = async (changes: object = {}, user = ada) => {
    const asked = unrefused(await ask(changes, randomUUID(), user));
    if (!('approvalId' in asked)) throw new Error('a payment was created');
    return asked.approvalId;
  };
  const grant = (approvalId: string, { userId } = bob) =>
    approvals.grant(organizationId, approvalId, { userId }, { ...by, actor: `user:${userId}` });
  const reject = (approvalId: string, { userId } = bob) =>
    approvals.reject(organizationId, approvalId, { userId, reason: 'too much' }, by);
  const withdraw = (approvalId: string, { userId } = ada) =>
    approvals.withdraw(organizationId, approvalId, { userId }, by);
  const payments = async () => {
    const { events } = await store.readLog({ after: '', streamPrefixes: ['payment-'] });
    return [...new Set(events.map(({ streamId }) => streamId))];
  };
  const people = { ada, bob, cleo };
  return {
    ...{ ...world, ...people, approvals, processOn, setAmount, newUser, ask, waiting },
    ...{ grant, reject, withdraw, payments },
  };
}
