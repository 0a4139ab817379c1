import { type CreatedPayment, PaymentCreation } from '@pis/commands';
import {
  type PaymentListItem,
  type PaymentListQuery,
  paymentCreateSchema,
  paymentListSchema,
  paymentView,
  type PaymentView,
  validate,
} from '@pis/contracts';
import { payment as payments } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import {
  accepted,
  answer,
  type Answer,
  bodyOf,
  callerOf,
  contextOf,
  Cursors,
  idIn,
  invalid,
  notFound,
  OwnWrites,
} from '@pis/http-api';
import { type PaymentsQuery } from '@pis/read-models';
import { EVENT_STORE } from '@pis/service-kit';
import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { idempotencyKeyIn } from './idempotency-key.js';
import { PaymentByKey } from './payment-by-key.js';
import { granted } from './refusals.js';
import { PAYMENTS_QUERY } from './tokens.js';

@Controller('v1/payments')
export class PaymentsController {
  private readonly payments;

  constructor(
    @Inject(EVENT_STORE) store: EventStore,
    @Inject(PAYMENTS_QUERY) private readonly query: PaymentsQuery,
    @Inject(PaymentCreation) private readonly creation: PaymentCreation,
    @Inject(OwnWrites) private readonly ownWrites: OwnWrites,
    @Inject(Cursors) private readonly cursors: Cursors,
    @Inject(PaymentByKey) private readonly byKey: PaymentByKey,
  ) {
    this.payments = repository(store, payments);
  }

  @Post()
  async create(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer<Pick<CreatedPayment, 'paymentId'>>> {
    const { organizationId } = callerOf(request);
    const key = idempotencyKeyIn(request.headers['idempotency-key'], request.raw.rawHeaders);
    const body = accepted(validate(paymentCreateSchema, bodyOf(request)));
    const context = contextOf(request);
    const created = await this.creation.create(organizationId, key, body, context);
    const { paymentId, replayed } = granted(created);
    if (replayed) reply.header('Idempotent-Replayed', 'true');
    return answer({ paymentId });
  }

  /** Folds the stream: always current. A list asked for next says no less. */
  @Get(':id')
  async get(@Req() request: FastifyRequest): Promise<Answer<PaymentView>> {
    const { organizationId } = callerOf(request);
    const { state, lastEvent } = await this.payments.load(idIn(request, 'paymentId'));
    if (state?.organizationId !== organizationId) throw notFound('payment');
    this.ownWrites.note('payments', organizationId, lastEvent?.position ?? null);
    return answer(paymentView(state));
  }

  @Get()
  async list(@Req() request: FastifyRequest): Promise<Answer<readonly PaymentListItem[]>> {
    const { organizationId } = callerOf(request);
    const validated = validate<PaymentListQuery>(paymentListSchema, request.query);
    const { after, problems } = this.cursors.read('payments', organizationId, request.query);
    if (problems.length > 0)
      throw invalid([...(validated.ok ? [] : validated.problems), ...problems]);
    const { limit, cursor: _cursor, idempotencyKey, ...filter } = accepted(validated);
    if (idempotencyKey !== undefined) {
      const found = await this.byKey.find(organizationId, idempotencyKey, filter, after);
      const { data, meta } = answer(found);
      return { data, meta: { ...meta, pagination: { limit, nextCursor: null } } };
    }

    await this.ownWrites.visible('payments', organizationId);
    const { items, next } = await this.query.list(organizationId, filter, { limit, after });
    const nextCursor = next && this.cursors.encode('payments', organizationId, next);
    const { data, meta } = answer(items);
    return { data, meta: { ...meta, pagination: { limit, nextCursor } } };
  }
}
