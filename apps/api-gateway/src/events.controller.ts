/**
 * The pull feed: the same envelopes that endpoints receive, oldest first and without gaps. Each is computed
 * from its stream and has the same bytes as the webhook.
 */
import { Controller, Inject } from '@nestjs/common';
import { type EventListQuery, listEvents } from '@pis/contracts';
import type { EventStore } from '@pis/event-store';
import {
  accepted,
  answer,
  type Answer,
  Caller,
  Cursors,
  type Given,
  GivenQuery,
  notOfThisList,
  Operation,
  OwnWrites,
  Turns,
} from '@pis/http-api';
import { assertNoMore, type EventsQuery, type FoundEvents } from '@pis/read-models';
import { pastWebhookEvents } from '@pis/integration';
import { EVENT_STORE, PG_POOL } from '@pis/service-kit';
import { paymentEnvelope, type WebhookEnvelope } from '@pis/webhooks';
import { EVENTS_QUERY } from './tokens.js';

const list = 'events';
/** Entries of the index that one request looks through. After that the answer has the matches so far, and the place to continue. */
const scanMax = 20_000;
/** Of an organization: a page may look through many entries, and the other organizations must not wait for that. */
const pageTurns = { atOnceMax: 4, sizeMax: 200 } as const;
/** The earliest time. The index reads from slightly before the given time, which must also be a valid time. */
const nothingBefore = '1970-01-01T00:00:00.000Z';

type PgPool = Parameters<typeof pastWebhookEvents>[1];

@Controller()
export class EventsController {
  private readonly turns = new Turns(pageTurns);

  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(PG_POOL) private readonly pool: PgPool,
    @Inject(EVENTS_QUERY) private readonly events: EventsQuery,
    @Inject(OwnWrites) private readonly ownWrites: OwnWrites,
    @Inject(Cursors) private readonly cursors: Cursors,
  ) {}

  @Operation(listEvents)
  async page(
    @Caller() { organizationId }: Caller,
    @GivenQuery() given: Given<EventListQuery>,
  ): Promise<Answer<readonly WebhookEnvelope[]>> {
    const { after } = given.given as { readonly after?: unknown };
    const place =
      typeof after === 'string' ? this.cursors.decodePlace(list, organizationId, after) : undefined;
    if (place === null) throw notOfThisList(given, 'after');
    const query = accepted(given);

    await this.ownWrites.visible('events', organizationId);
    const { events, reached } = await this.turns.take(organizationId, async () => {
      const begin = place ?? (await this.beginning(organizationId, query));
      const { found, reached: last } = await this.scan(organizationId, begin, query);
      return { events: await pastWebhookEvents(this.store, this.pool, found), reached: last };
    });
    const nextCursor = this.cursors.encodePlace(list, organizationId, reached);
    return answer(events.map(paymentEnvelope), { limit: query.limit, nextCursor });
  }

  private async beginning(organizationId: string, { from }: EventListQuery): Promise<string> {
    return from === undefined || from < nothingBefore
      ? ''
      : this.events.positionBefore(organizationId, from);
  }

  private scan(
    organizationId: string,
    begin: string,
    { limit, eventType, from, after: _after, ...others }: EventListQuery,
  ): Promise<FoundEvents> {
    assertNoMore(others);
    const limits = { max: limit, scanMax };
    return this.events.matching(organizationId, begin, { eventType, from }, limits);
  }
}
