/**
 * Makes the payments of the demo organization with the commands of the dashboard and of the payer's page. The
 * rest is done by the system and its simulated bank, as for every payment. Each step may be repeated: a start that
 * was cut off is completed by the next one, and no payment is made twice.
 */
import type { PaymentRecipient } from '@pis/contracts';
import { payment as payments, unreachable } from '@pis/domain';
import { beginning, type EventStore, repository, systemContext } from '@pis/event-store';
import type { ContactDirectory } from './contact-directory.js';
import {
  type DemoAnswer,
  demoAddress,
  type DemoContact,
  type DemoPayment,
  demoPayments,
} from './demo-payments.data.js';
import type { PaymentLinks } from './payment-links/payment-links.js';
import type { PaymentSimulation } from './payment-simulation.js';
import { unrefused } from './use-case.js';

export interface DemoPaymentsOptions {
  readonly store: EventStore;
  readonly contacts: Pick<ContactDirectory, 'create'>;
  readonly links: Pick<PaymentLinks, 'request' | 'submit' | 'cancel'>;
  readonly organizationId: string;
  /** To whom the payments belong. */
  readonly originatorId: string;
}

export interface DemoSettling {
  readonly store: EventStore;
  readonly simulation: Pick<PaymentSimulation, 'simulate'>;
  readonly organizationId: string;
}

const by = systemContext('bootstrap');
const timeOut = { outcome: 'time_out', returnReasonCode: null } as const;
/** The demo's counterparties use no network. */
const visitor = { ip: '127.0.0.1', userAgent: 'Demo' };
const pageMax = 100;

/** @returns the IDs of the payments, as in `demoPayments` @throws StoreUnavailable */
export async function playDemoPayments(options: DemoPaymentsOptions): Promise<readonly string[]> {
  const recipients = await allOf(
    demoPayments.map(async ({ recipient }) =>
      'saved' in recipient
        ? { contactId: await contactIdOf(options, recipient.saved) }
        : recipient.asked,
    ),
  );
  const requested: { readonly paymentId: string; readonly url: string | null }[] = [];
  // One after another, so that the lists have them in this order.
  for (const [index, payment] of demoPayments.entries()) {
    const recipient = recipients[index];
    if (recipient === undefined) throw new Error('a demo payment has no recipient');
    requested.push(await request(options, payment, recipient));
  }
  await allOf(
    demoPayments.map(async ({ recipient }, index) => {
      const { paymentId = '', url = null } = requested[index] ?? {};
      if ('asked' in recipient) await answer(options, paymentId, url, recipient.answer);
    }),
  );
  return requested.map(({ paymentId }) => paymentId);
}

/**
 * Whether the system has nothing more to do for any of them. A bank that stays silent is not waited for.
 * @throws StoreUnavailable
 */
export async function demoPaymentsSettled(
  { store, simulation, organizationId }: DemoSettling,
  paymentIds: readonly string[],
): Promise<boolean> {
  const repositoryOfPayments = repository(store, payments);
  const settled = await Promise.all(
    paymentIds.map(async (id, index) => {
      const endsIn = demoPayments[index]?.endsIn;
      const { state } = await repositoryOfPayments.load(id);
      if (state?.status === 'PROCESSING' && endsIn === 'FAILED_IN_FLIGHT')
        await simulation.simulate(organizationId, id, timeOut, by);
      return state?.status === endsIn;
    }),
  );
  return settled.every((one) => one);
}

async function request(
  { links, organizationId, originatorId }: DemoPaymentsOptions,
  { name, direction, amountMinor, note, externalId }: DemoPayment,
  recipient: PaymentRecipient,
): Promise<{ readonly paymentId: string; readonly url: string | null }> {
  const requested = {
    ...{ originatorId, direction, recipient },
    ...{ paymentAmount: amountMinor, paymentNote: note, externalPaymentId: externalId },
  };
  const requester = { userId: null, idempotencyKey: `demo-${name}` };
  return unrefused(await links.request(organizationId, requested, requester, by));
}

async function answer(
  { links, organizationId }: DemoPaymentsOptions,
  paymentId: string,
  url: string | null,
  what: DemoAnswer,
): Promise<void> {
  switch (what.type) {
    case 'submits':
      return submit(links, url, what.account);
    case 'is canceled':
      unrefused(await links.cancel(organizationId, paymentId, by));
      return;
    case 'waits':
      return;
    default:
      return unreachable(what);
  }
}

/** Ends when all have ended, also when one fails: its caller may begin again. */
async function allOf<Result>(works: readonly Promise<Result>[]): Promise<readonly Result[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

async function submit(
  links: DemoPaymentsOptions['links'],
  url: string | null,
  account: DemoContact['bankAccount'],
): Promise<void> {
  const token = url?.split('/').at(-1) ?? '';
  const submitted = await links.submit(token, { ...account, legalAddress: demoAddress }, visitor);
  if (!('refused' in submitted)) return;
  // An earlier start may have submitted it, or was cut off so long ago that the link has expired.
  const isOver = submitted.refused === 'ALREADY_SUBMITTED' || submitted.refused === 'LINK_EXPIRED';
  if (!isOver) unrefused(submitted);
}

async function contactIdOf(
  { store, contacts: directory, organizationId, originatorId }: DemoPaymentsOptions,
  { holder, email, bankAccount }: DemoContact,
): Promise<string> {
  const numbers = { ...bankAccount, swiftCode: null };
  const details = { phoneNumber: null, legalAddress: null, bankAccount: numbers };
  const request = { originatorId, ...holder, email, ...details };
  const created = await directory.create(organizationId, request, by);
  if ('refused' in created && created.refused === 'DUPLICATE_CONTACT')
    return existingContact(store, organizationId, email);
  return unrefused(created).contactId;
}

/** Read from the log, because the lists may lag behind. */
async function existingContact(
  store: EventStore,
  organizationId: string,
  email: string,
): Promise<string> {
  for (let after = beginning; ; ) {
    const page = await store.readLog({ after, streamPrefixes: ['contact-'], pageMax });
    const found = page.events.find(
      ({ data }) => data['organizationId'] === organizationId && data['email'] === email,
    );
    if (found !== undefined) return String(found.data['contactId']);
    if (page.events.length === 0 && page.position === after)
      throw new Error('the contact of a demo payment is missing');
    after = page.position;
  }
}
