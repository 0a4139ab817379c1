/** Payments: the list, one payment with all that is known of it, and what users do with them. */
import type { PaymentLinks, PaymentSimulation, WebhookEndpointDirectory } from '@pis/commands';
import { paymentView } from '@pis/contracts';
import {
  type Payment,
  payerFeeMinor,
  payment as payments,
  statusAfter,
  streamIdOf,
  type User,
} from '@pis/domain';
import { type EventStore, type RecordedEvent, repository } from '@pis/event-store';
import { type Cursors, granted, notFound, now, type OwnWrites } from '@pis/http-api';
import type { PaymentsQuery } from '@pis/read-models';
import type { Users } from '@pis/users';
import { deliveryIdOf, type DeliveryLog, deliveryView } from '@pis/webhook-deliveries';
import type { FastifyRequest } from 'fastify';
import { mayCall, operations } from '../operations.js';
import type { LinkView, paymentOperations, PaymentPage } from '../operations/payments.js';
import { qrCodeOf } from '../qr-code.js';
import { type Handlers, Paged } from '../routes.js';
import { emailsOfActors } from './actors.js';

export interface PaymentServices {
  readonly store: EventStore;
  readonly users: Users;
  readonly links: PaymentLinks;
  readonly simulation: PaymentSimulation;
  readonly endpoints: WebhookEndpointDirectory;
  readonly deliveries: DeliveryLog;
  readonly query: PaymentsQuery;
  readonly cursors: Cursors;
  readonly ownWrites: OwnWrites;
  /** PIS_PUBLIC_URL; the address of the request if it is not set. */
  readonly publicUrl: string | undefined;
}

/** Deliveries of one payment to one endpoint. */
const deliveriesMax = 100;

export function paymentHandlers(
  services: PaymentServices,
): Handlers<keyof typeof paymentOperations> {
  const { links, simulation, query, cursors, ownWrites } = services;
  return {
    async listPayments({ organizationId, givenQuery }) {
      const { query: asked, after } = cursors.page('payments', organizationId, givenQuery);
      const { limit, cursor: _cursor, idempotencyKey: _key, ...filter } = asked;
      await ownWrites.visible('payments', organizationId);
      const { items, next } = await query.list(organizationId, filter, { limit, after });
      const nextCursor = next && cursors.encode('payments', organizationId, next);
      return new Paged(items, { limit, nextCursor });
    },

    getPayment: ({ organizationId, user, ids }) =>
      pageOf(services, organizationId, user, ids.paymentId),

    async createPayment({ organizationId, user, body, by, request }) {
      const { idempotencyKey, ...payment } = body;
      const requester = { userId: user.userId, idempotencyKey };
      const created = granted(await links.request(organizationId, payment, requester, by));
      const { paymentId, status } = created;
      return { paymentId, status, url: created.url && baseOf(services, request) + created.url };
    },

    cancelPayment: async ({ organizationId, ids, by }) =>
      paymentView(granted(await links.cancel(organizationId, ids.paymentId, by))),

    async showLink({ organizationId, user, ids, request }) {
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
  const actors = [...events.map(({ metadata }) => metadata.actor), ...accesses.map(actorOf)];
  const [emailOf, deliveries] = await Promise.all([
    emailsOfActors(users, organizationId, actors),
    deliveriesOf(services, organizationId, events),
  ]);
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
    railDecision: state.railDecision ?? null,
    railReference: state.railReference,
    connection: state.connection,
    deliveries,
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

function actorOf({ actor }: { readonly actor: string | null }): string | null {
  return actor;
}

function linkOf(payment: Payment, accesses: LinkView['accesses']): LinkView | null {
  const { link, status } = payment;
  if (link === null) return null;
  const { expiresAt } = link;
  const waiting = expiresAt <= now() ? 'expired' : 'open';
  const ended = status === 'CANCELED' ? 'canceled' : 'used';
  const state = status === 'AWAITING_CONFIRMATION' ? waiting : ended;
  return { state, expiresAt, payerFee: payerFeeMinor(payment), accesses };
}

/** To the endpoints of today. Their IDs are known, so no index by payment is needed. */
async function deliveriesOf(
  { endpoints, deliveries: log }: PaymentServices,
  organizationId: string,
  events: readonly RecordedEvent[],
): Promise<PaymentPage['deliveries']> {
  const found = await Promise.all(
    (await endpoints.list(organizationId)).map(async ({ endpointId, url }) => {
      const ids = events.map(({ id }) => deliveryIdOf(id, endpointId));
      const of = { organizationId, endpointId };
      const { items } = await log.list(of, { ids }, { limit: deliveriesMax });
      return items.map((delivery) => ({ ...deliveryView(delivery), url }));
    }),
  );
  return found.flat().sort((a, b) => a.createdAt.localeCompare(b.createdAt));
}
