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
} from '@pis/http-api';
import { assertNoMore, type EventsQuery, type IndexedEventRef } from '@pis/read-models';
import { pastWebhookEvents } from '@pis/integration';
import { EVENT_STORE, PG_POOL } from '@pis/service-kit';
import { paymentEnvelope, type WebhookEnvelope } from '@pis/webhooks';
import { EVENTS_QUERY } from './tokens.js';

const list = 'events';
/** Entries of the index read at a time, when a filter skips most events. */
const scanPageMax = 1_000;
/** Entries read for one request. After that the answer has the matches so far, and the place to continue. */
const scanPagesMax = 20;
/** The earliest time. The index reads from slightly before the given time, which must also be a valid time. */
const nothingBefore = '1970-01-01T00:00:00.000Z';

type PgPool = Parameters<typeof pastWebhookEvents>[1];

@Controller()
export class EventsController {
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
    const begin = place ?? (await this.beginning(organizationId, query));
    const { found, reached } = await this.scan(organizationId, begin, query);
    const events = await pastWebhookEvents(this.store, this.pool, found);
    const { data, meta } = answer(events.map(paymentEnvelope));
    const nextCursor = this.cursors.encodePlace(list, organizationId, reached);
    return { data, meta: { ...meta, pagination: { limit: query.limit, nextCursor } } };
  }

  private async beginning(organizationId: string, { from }: EventListQuery): Promise<string> {
    return from === undefined || from < nothingBefore
      ? ''
      : this.events.positionBefore(organizationId, from);
  }

  /** The events that match the filter, and the position that was read. */
  private async scan(
    organizationId: string,
    begin: string,
    { limit, eventType, from, after: _after, ...others }: EventListQuery,
  ): Promise<{ readonly found: readonly IndexedEventRef[]; readonly reached: string }> {
    assertNoMore(others);
    const passes = (event: IndexedEventRef) =>
      (eventType === undefined || event.eventType === eventType) &&
      (from === undefined || event.occurredAt >= from);
    const max = eventType === undefined && from === undefined ? limit : scanPageMax;
    const found: IndexedEventRef[] = [];
    let reached = begin;
    for (let pages = 0; pages < scanPagesMax; pages += 1) {
      const page = await this.events.after(organizationId, reached, max);
      for (const event of page) {
        if (passes(event)) found.push(event);
        reached = event.position;
        if (found.length === limit) return { found, reached };
      }
      if (page.length < max) break;
    }
    return { found, reached };
  }
}
