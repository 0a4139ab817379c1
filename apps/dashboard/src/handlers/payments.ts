/** Payments: the list, one payment with all that is known of it, and what users do with them. */
import { railReferenceOf, railRejectionText } from '@pis/bank-rails';
import { bankReferencesOf, listArchive } from '@pis/bank-rails/connections';
import {
  type PaymentApprovals,
  type PaymentLinks,
  type PaymentSimulation,
  possibleOutcomes,
  type WebhookEndpointDirectory,
} from '@pis/commands';
import { type PaymentListItem, paymentView } from '@pis/contracts';
import {
  type Environment,
  linkExpiryOf,
  type Payment,
  payerFeeMinor,
  payment as payments,
  returnAmountsOf,
  returnReasonOf,
  returnReasons,
  statusAfter,
  streamIdOf,
  type User,
} from '@pis/domain';
import { type EventStore, type RecordedEvent, repository } from '@pis/event-store';
import { type Cursors, granted, notFound, now, type OwnWrites, Turns } from '@pis/http-api';
import { type Movement, movementsOfPayment, type PaymentsQuery } from '@pis/read-models';
import type { Users } from '@pis/users';
import { deliveriesTo, deliveryView } from '@pis/webhook-deliveries';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import { mayCall, operations } from '../operations.js';
import type {
  BankReferencesView,
  LinkView,
  MovementView,
  paymentOperations,
  PaymentPage,
  RailDecisionView,
  ReturnedView,
  SimulationView,
} from '../operations/payments.js';
import { qrCodeOf } from '../qr-code.js';
import type { RecordedActions } from '../recorded-actions.js';
import { type Handlers, Paged } from '../routes.js';
import { emailsOfActors, userActor } from './actors.js';

export interface PaymentServices {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly environment: Environment;
  readonly users: Users;
  readonly actions: RecordedActions;
  readonly links: PaymentLinks;
  readonly approvals: PaymentApprovals;
  readonly simulation: PaymentSimulation;
  readonly endpoints: WebhookEndpointDirectory;
  readonly query: PaymentsQuery;
  readonly cursors: Cursors;
  readonly ownWrites: OwnWrites;
  /** PIS_PUBLIC_URL; the address of the request if it is not set. */
  readonly publicUrl: string | undefined;
}

/** Lists of an organization that are read at the same time: a rare filter takes seconds, and others need the connections. */
const listTurns = { atOnceMax: 3, sizeMax: 100 } as const;
/** Pages of payments, which show deliveries to hundreds of endpoints. */
const pageTurns = { atOnceMax: 3, sizeMax: 100 } as const;
/** Of one payment: its own, the answers, and inquiries. */
const filesMax = 50;

export function paymentHandlers(
  services: PaymentServices,
): Handlers<keyof typeof paymentOperations> {
  const { actions, links, approvals, simulation, query, cursors, ownWrites } = services;
  const turns = new Turns(listTurns);
  const pages = new Turns(pageTurns);
  return {
    async listPayments({ organizationId, givenQuery }) {
      const { query: asked, after } = cursors.page('payments', organizationId, givenQuery);
      const { limit, cursor: _cursor, idempotencyKey: _key, ...filter } = asked;
      await ownWrites.visible('payments', organizationId);
      const { items, next } = await turns.take(organizationId, () =>
        query.list(organizationId, filter, { limit, after }),
      );
      const nextCursor = next && cursors.encode('payments', organizationId, next);
      const at = now();
      const listed = items.map((item) => ({ ...item, linkExpired: hasExpiredLink(item, at) }));
      return new Paged(listed, { limit, nextCursor });
    },

    getPayment: ({ organizationId, user, ids }) =>
      pages.take(organizationId, () => pageOf(services, organizationId, user, ids.paymentId)),

    async createPayment({ organizationId, user, body, by }) {
      const { idempotencyKey, ...payment } = body;
      const requester = { userId: user.userId, idempotencyKey };
      const created = granted(await approvals.request(organizationId, payment, requester, by));
      if ('approvalId' in created) return created;
      const { paymentId, status } = created;
      return { paymentId, status };
    },

    cancelPayment: async ({ organizationId, ids, by }) =>
      paymentView(granted(await links.cancel(organizationId, ids.paymentId, by))),

    async showLink({ organizationId, user, ids, request }) {
      // Each showing leaves a row, which is kept for good.
      actions.takeAction(user.userId);
      const shown = granted(await links.show(organizationId, ids.paymentId, user));
      const url = baseOf(services, request) + shown.url;
      return { url, qrCode: await qrCodeOf(url) };
    },

    simulatePayment: async ({ organizationId, ids, body, by }) =>
      paymentView(granted(await simulation.simulate(organizationId, ids.paymentId, body, by))),
  };
}

/** What the path of a link is appended to. */
function baseOf({ publicUrl }: PaymentServices, { protocol, host }: FastifyRequest): string {
  return publicUrl?.replace(/\/$/, '') ?? `${protocol}://${host}`;
}

async function pageOf(
  services: PaymentServices,
  organizationId: string,
  user: User,
  paymentId: string,
): Promise<PaymentPage> {
  const { store, users, links, ownWrites } = services;
  const { state, lastEvent } = await repository(store, payments).load(paymentId);
  if (state?.organizationId !== organizationId) throw notFound('payment');
  ownWrites.note('payments', organizationId, lastEvent?.position ?? null);
  const events = await store.readStream(streamIdOf('payment', paymentId));
  const accesses = granted(await links.accesses(organizationId, paymentId));
  const { approval = null } = state;
  const approvers = approval === null ? [] : [approval.requestedBy, approval.approvedBy];
  const actors = [
    ...events.map(({ metadata }) => metadata.actor),
    ...accesses.map(actorOf),
    ...approvers.map(userActor),
  ];
  const [emailOf, deliveries, bankReferences, movements] = await Promise.all([
    emailsOfActors(users, organizationId, actors),
    deliveriesOf(services, organizationId, events),
    bankReferencesView(services, state),
    movementsOfPayment(services.pool, organizationId, paymentId),
  ]);
  const person = (userId: string) => ({ userId, email: emailOf(userActor(userId)) });
  const seesVisitors = mayCall(user.role, operations.showLink);
  return {
    payment: paymentView(state),
    timeline: events.map(({ id, type, metadata }) => ({
      eventId: id,
      type,
      status: type in statusAfter ? statusAfter[type as keyof typeof statusAfter] : null,
      at: metadata.at,
      actor: metadata.actor,
      actorEmail: emailOf(metadata.actor),
      requestId: metadata.requestId,
      traceId: metadata.traceparent?.split('-')[1] ?? null,
    })),
    railDecision: railDecisionView(state),
    railReference: state.railReference,
    connection: state.connection,
    bankReferences,
    movements: movements.flatMap(movementView),
    returned: returnedView(state),
    returnReason: state.returnReasonCode === null ? null : returnReasonOf(state.returnReasonCode),
    simulation: simulationOf(services, user, state),
    deliveries,
    approval: approval && {
      requestedBy: person(approval.requestedBy),
      approvedBy: person(approval.approvedBy),
    },
    link: linkOf(
      state,
      accesses.map((access) => ({
        ...access,
        actorEmail: emailOf(access.actor),
        visitor: seesVisitors ? access.visitor : null,
      })),
    ),
  };
}

function movementView({ kind, ...movement }: Movement): readonly MovementView[] {
  // A collection belongs to no payment.
  if (kind !== 'transfer' && kind !== 'return' && kind !== 'later_return') return [];
  const { movementId, side, amountMinor, rail, reference, at } = movement;
  const shown = { movementId, side, reference, at: at.toISOString() };
  const shownKind = kind === 'transfer' ? kind : 'return';
  return [{ ...shown, kind: shownKind, amount: amountMinor, paymentRail: rail }];
}

function returnedView(state: Payment): ReturnedView | null {
  const amounts = returnAmountsOf(state);
  return amounts && { amount: amounts.returnedMinor, kept: amounts.keptMinor };
}

function railDecisionView({ railDecision }: Payment): RailDecisionView | null {
  if (!railDecision) return null;
  const rejected = railDecision.rejected.map((one) => ({
    ...one,
    reason: railRejectionText(one),
  }));
  return { ...railDecision, rejected };
}

/** A payment that waits for its prenote has an entry and files before it is claimed. */
async function bankReferencesView(
  { pool }: PaymentServices,
  { paymentId, railReference, connection }: Payment,
): Promise<BankReferencesView> {
  const [references, files] = await Promise.all([
    bankReferencesOf(pool, railReference ?? railReferenceOf(paymentId), connection),
    listArchive(pool, { paymentId, max: filesMax }),
  ]);
  return {
    ...references,
    files: files.map(({ id, rail, way, kind, name, createdAt }) => ({
      ...{ id, rail, way, kind, name, createdAt },
    })),
  };
}

function simulationOf(
  { environment }: PaymentServices,
  user: User,
  state: Payment,
): SimulationView | null {
  if (environment !== 'sandbox' || !mayCall(user.role, operations.simulatePayment)) return null;
  const outcomes = possibleOutcomes(state);
  const codes = outcomes.includes('return') ? Object.keys(returnReasons) : [];
  return { outcomes, returnReasons: codes.map(returnReasonOf) };
}

function actorOf({ actor }: { readonly actor: string | null }): string | null {
  return actor;
}

/** A link is as old as its payment, so the list needs no other table. */
function hasExpiredLink({ status, createdAt }: PaymentListItem, at: string): boolean {
  return status === 'AWAITING_CONFIRMATION' && linkExpiryOf(createdAt) <= at;
}

function linkOf(payment: Payment, accesses: LinkView['accesses']): LinkView | null {
  const { link, status } = payment;
  if (link === null) return null;
  const { expiresAt, holder } = link;
  const waiting = expiresAt <= now() ? 'expired' : 'open';
  const ended = status === 'CANCELED' ? 'canceled' : 'used';
  const state = status === 'AWAITING_CONFIRMATION' ? waiting : ended;
  return { state, expiresAt, holder, payerFee: payerFeeMinor(payment), accesses };
}

/** To the endpoints of today. */
async function deliveriesOf(
  { endpoints, pool }: PaymentServices,
  organizationId: string,
  events: readonly RecordedEvent[],
): Promise<PaymentPage['deliveries']> {
  const all = await endpoints.list(organizationId);
  const urls = new Map(all.map(({ endpointId, url }) => [endpointId, url]));
  const eventIds = events.map(({ id }) => id);
  const to = { organizationId, endpointIds: [...urls.keys()] };
  const found = await deliveriesTo(pool, to, eventIds);
  return found.map((delivery) => ({
    ...deliveryView(delivery),
    url: urls.get(delivery.endpointId) ?? '',
  }));
}
