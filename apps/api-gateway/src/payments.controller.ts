import { type CreatedPayment, PaymentCreation } from '@pis/commands';
import {
  createPayment,
  getPayment,
  listPayments,
  type PaymentCreateRequest,
  type PaymentListItem,
  type PaymentListReadQuery,
  type PaymentReadQuery,
  paymentView,
  type PaymentView,
} from '@pis/contracts';
import { payment as payments } from '@pis/domain';
import { type CommandContext, type EventStore, repository } from '@pis/event-store';
import {
  answer,
  type Answer,
  Body,
  Caller,
  Context,
  Cursors,
  type Given,
  GivenQuery,
  granted,
  Id,
  IdempotencyKey,
  notFound,
  Operation,
  OwnWrites,
  Query,
  Turns,
} from '@pis/http-api';
import { type PaymentsQuery } from '@pis/read-models';
import { EVENT_STORE } from '@pis/service-kit';
import { Controller, Inject, Res } from '@nestjs/common';
import { type FastifyReply } from 'fastify';
import { AsOf } from './as-of.js';
import { PaymentByKey } from './payment-by-key.js';
import { PAYMENTS_QUERY } from './tokens.js';

/**
 * Of an organization: a label that many payments share, with a party that has many others, takes seconds to look up, and
 * the other organizations need the connections.
 */
const listTurns = { atOnceMax: 3, sizeMax: 500 } as const;

@Controller()
export class PaymentsController {
  private readonly payments;
  private readonly turns = new Turns(listTurns);

  constructor(
    @Inject(EVENT_STORE) store: EventStore,
    @Inject(PAYMENTS_QUERY) private readonly query: PaymentsQuery,
    @Inject(PaymentCreation) private readonly creation: PaymentCreation,
    @Inject(OwnWrites) private readonly ownWrites: OwnWrites,
    @Inject(Cursors) private readonly cursors: Cursors,
    @Inject(PaymentByKey) private readonly byKey: PaymentByKey,
    @Inject(AsOf) private readonly asOf: AsOf,
  ) {
    this.payments = repository(store, payments);
  }

  @Operation(createPayment)
  async create(
    @Caller() { organizationId }: Caller,
    @Context() context: CommandContext,
    @IdempotencyKey() key: string,
    @Body() body: PaymentCreateRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answer<Pick<CreatedPayment, 'paymentId'>>> {
    const created = await this.creation.create(organizationId, key, body, context);
    const { paymentId, replayed } = granted(created);
    if (replayed) reply.header('Idempotent-Replayed', 'true');
    return answer({ paymentId });
  }

  /** Folds the stream, so it is always current. The next list shows at least this state. */
  @Operation(getPayment)
  async get(
    @Caller() { organizationId }: Caller,
    @Id('paymentId') paymentId: string,
    @Query() { asOf }: PaymentReadQuery,
  ): Promise<Answer<PaymentView>> {
    const { state, lastEvent } = await (asOf === undefined
      ? this.payments.load(paymentId)
      : this.payments.loadAsOf(paymentId, asOf));
    if (state?.organizationId !== organizationId) throw notFound('payment');
    this.ownWrites.note('payments', organizationId, lastEvent?.position ?? null);
    return answer(paymentView(state));
  }

  @Operation(listPayments)
  async list(
    @Caller() { organizationId }: Caller,
    @GivenQuery() given: Given<PaymentListReadQuery>,
  ): Promise<Answer<readonly PaymentListItem[]>> {
    const { query, after, list } = this.cursors.pageAsOf('payments', organizationId, given);
    const { limit, cursor: _cursor, idempotencyKey, asOf, ...filter } = query;
    if (idempotencyKey !== undefined) {
      const asked = { filter, after, asOf };
      const found = await this.byKey.find(organizationId, idempotencyKey, asked);
      return answer(found, { limit, nextCursor: null });
    }

    const page = { limit, after };
    const { items, next } = await (asOf === undefined
      ? this.current(organizationId, filter, page)
      : this.asOf.payments(organizationId, filter, asOf, page));
    const nextCursor = next && this.cursors.encode(list, organizationId, next);
    return answer(items, { limit, nextCursor });
  }

  private async current(...[organizationId, filter, page]: Parameters<PaymentsQuery['list']>) {
    await this.ownWrites.visible('payments', organizationId);
    return this.turns.take(organizationId, () => this.query.list(organizationId, filter, page));
  }
}
