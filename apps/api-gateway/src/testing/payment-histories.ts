/** Brings payments into states that no API request reaches, with the commands of other apps. */
import { randomBytes, randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import {
  type FailureCode,
  payment as payments,
  type PaymentCommand,
  type PaymentDetails,
  type PaymentParty,
} from '@pis/domain';
import { repository } from '@pis/event-store';
import { integrationFeed } from '@pis/integration';
import { by } from './gateway.js';
import { idOf, type Payer } from './payments.js';

/** A payment as the API and its events show it. */
export type Shown = Readonly<Record<string, unknown>> & {
  readonly status: string;
  readonly contact: Readonly<Record<string, unknown>> | null;
  readonly originator: Readonly<Record<string, unknown>>;
};

export type Step = PaymentCommand extends infer Command
  ? Command extends PaymentCommand
    ? Omit<Command, 'at'>
    : never
  : never;

export async function move(
  { gateway }: Payer,
  paymentId: string,
  ...steps: readonly Step[]
): Promise<void> {
  for (const step of steps) {
    const command = { ...step, at: new Date().toISOString() } as PaymentCommand;
    const moved = await repository(gateway.store, payments).execute(paymentId, command, by);
    if ('refused' in moved) throw new Error(`${command.type}: ${moved.refused}`);
  }
}

/** A payment as the dashboard creates it, with a link for the counterparty. */
export async function linked(
  payer: Payer,
  counterparty: 'saved' | 'unsaved',
  named = true,
): Promise<string> {
  const like = await repository(payer.gateway.store, payments).load(idOf(await payer.pay()));
  if (like.state === null) throw new Error('no payment to take after');
  const paymentId = randomUUID();
  const stranger: PaymentParty = { ...counterpartyOf(like.state), id: randomUUID() };
  const data: PaymentDetails = {
    ...like.state,
    paymentId,
    idempotencyKey: null,
    ...(counterparty === 'saved' ? {} : { contactId: null, contact: named ? stranger : null }),
  };
  const { entityType, firstName, lastName, companyName } = stranger;
  const link = {
    tokenDigest: randomBytes(32).toString('hex'),
    sealedToken: 'v3.sealed-token',
    holder: { entityType, firstName, lastName, companyName },
    counterpartyId: data.contactId ?? stranger.id,
    createdBy: null,
  };
  await move(payer, paymentId, { type: 'AwaitConfirmation', data: { ...data, link } });
  return paymentId;
}

function counterpartyOf({ contact }: PaymentDetails): PaymentParty {
  if (contact === null) throw new Error('it has no contact');
  return contact;
}

/** The counterparty of a link enters its bank details. */
export async function answer(payer: Payer, paymentId: string): Promise<void> {
  const like = await repository(payer.gateway.store, payments).load(idOf(await payer.pay()));
  if (like.state === null) throw new Error('no payment to take after');
  const { paymentRail, railDecision } = like.state;
  if (railDecision === undefined) throw new Error('it has no decision');
  const { bankAccount } = counterpartyOf(like.state);
  if (bankAccount === null) throw new Error('it has no bank account');
  const legalAddress = {
    addressLine1: '1 Main Street',
    city: 'Springfield',
    state: 'IL',
    postalCode: '62701',
    countryCode: 'US',
  };
  const data = { bankAccount, legalAddress, paymentRail, railDecision };
  await move(payer, paymentId, { type: 'SubmitCounterparty', data });
}

export const process: Step = { type: 'ProcessPayment', data: { railReference: 'r' } };
export const complete: Step = { type: 'CompletePayment', data: {} };
export const late: Step = {
  type: 'FailPaymentInFlight',
  data: { failureReason: 'no confirmation' },
};
export const cancel: Step = { type: 'CancelPayment', data: {} };
export const returned = (returnReasonCode: string | null): Step => ({
  type: 'ReturnPayment',
  data: { returnReasonCode },
});
export const rejection = 'bankAccount.achAccountNumber was rejected';
export const failed = (failureCode: FailureCode): Step => ({
  type: 'FailPayment',
  data: { failureCode, failureMessage: rejection, failureReason: rejection },
});

/** The `data` of every event of a payment, in order. */
export async function eventsOf(
  { gateway }: Payer,
  paymentId: string,
): Promise<(Shown & { readonly previousStatus: string | null })[]> {
  const controller = new AbortController();
  const { signal } = controller;
  const wanted = [topics.payments];
  const recorded = await gateway.store.readStream(`payment-${paymentId}`);
  const found: (Shown & { readonly previousStatus: string | null })[] = [];
  const feed = integrationFeed(gateway.store).subscribe({ after: '', topics: wanted, signal });
  for await (const { messages } of feed) {
    for (const { key, value } of messages)
      if (key === `payment-${paymentId}`)
        found.push((JSON.parse(String(value)) as { data: (typeof found)[number] }).data);
    if (found.length === recorded.length) break;
  }
  controller.abort();
  return found;
}
