/**
 * Lists as of a time: which records a list had comes from the read models, and what they looked like from folding the
 * streams of the page up to then. Copies of former names in a table were rejected: an erasure would have to find them.
 */
import {
  type ContactFilter,
  contactView,
  type ContactListItem,
  type ContactView,
  originatorView,
  type PaymentFilter,
  paymentListItem,
  type PaymentListItem,
  type OriginatorListItem,
  type OriginatorView,
} from '@pis/contracts';
import {
  contact as contacts,
  originator as originators,
  payment as payments,
  streamPrefixOf,
} from '@pis/domain';
import { type EventStore, type Loaded, repository, StoreUnavailable } from '@pis/event-store';
import { ApiError, Turns } from '@pis/http-api';
import {
  type directoryAsOf,
  type DirectoryAsOf,
  HeldAsOf,
  isCompleteAsOf,
  type ListCursor,
  type ListPage,
  pageOf,
  type PageRequest,
  type PaymentPeriods,
  type PaymentsQuery,
  type ProjectionName,
} from '@pis/read-models';

/**
 * Streams that a list reads at a time. All requests of the process share the queries that read streams. Clients can make
 * a stream long, and a page of each of a hundred long streams in one query would hold up everybody else.
 */
const streamsAtOnceMax = 4;
/** How long a list waits for its projection. A list of the past is complete, or it is not answered. */
const waitMaxMs = 1_000;
/**
 * Of an organization: a list reads the streams of a whole page, and clients can make those of contacts long. The other
 * organizations must not wait for that.
 */
const listTurns = { atOnceMax: 4, sizeMax: 200 } as const;
/** Of payments with one label, which a client chooses. What follows is on further pages. */
const labeledReadsMax = 10;
const labeledPageMax = 100;

type PageOfPayments = PageRequest & { readonly limit: number };
type Pool = Parameters<typeof directoryAsOf>[0];

export class AsOf {
  private readonly paymentStreams;
  private readonly contactStreams;
  private readonly originatorStreams;
  private readonly quarantine: HeldAsOf;
  private readonly turns = new Turns(listTurns);

  constructor(
    readonly store: EventStore,
    readonly pool: Pool,
    private readonly directory: DirectoryAsOf,
    private readonly current: PaymentsQuery,
    private readonly periods: PaymentPeriods,
  ) {
    this.paymentStreams = repository(store, payments);
    this.contactStreams = repository(store, contacts);
    this.originatorStreams = repository(store, originators);
    this.quarantine = new HeldAsOf({ store, pool });
  }

  /** @throws StoreUnavailable, RateLimited */
  contacts(
    organizationId: string,
    filter: ContactFilter,
    at: string,
    page: PageRequest,
  ): Promise<ListPage<ContactListItem>> {
    return this.turns.take(organizationId, async () => {
      await this.complete('directory', 'contact', organizationId, at);
      const listed = await this.directory.contacts(organizationId, filter, at, page);
      const states = await statesOf(this.contactStreams, listed.items, at);
      return { ...listed, items: states.map((state) => shown(contactView(state))) };
    });
  }

  /** @throws StoreUnavailable, RateLimited */
  originators(
    organizationId: string,
    at: string,
    page: PageRequest,
  ): Promise<ListPage<OriginatorListItem>> {
    return this.turns.take(organizationId, async () => {
      await this.complete('directory', 'originator', organizationId, at);
      const listed = await this.directory.originators(organizationId, at, page);
      const states = await statesOf(this.originatorStreams, listed.items, at);
      return { ...listed, items: states.map((state) => shown(originatorView(state))) };
    });
  }

  /**
   * Only the status and the rail of a payment change. Without a filter by them, the list is that of the present, up to
   * the time. With one, it comes from the history. @throws StoreUnavailable, RateLimited
   */
  payments(...asked: Parameters<AsOf['paymentsInTurn']>): Promise<ListPage<PaymentListItem>> {
    return this.turns.take(asked[0], () => this.paymentsInTurn(...asked));
  }

  private async paymentsInTurn(
    organizationId: string,
    filter: PaymentFilter,
    at: string,
    page: PageOfPayments,
  ): Promise<ListPage<PaymentListItem>> {
    const { status, paymentRail, ...constant } = filter;
    const isByHistory = status !== undefined || paymentRail !== undefined;
    if (isByHistory && filter.externalPaymentId !== undefined)
      return this.labeled(organizationId, filter, at, page);
    if (!isByHistory) return this.created(organizationId, constant, at, page);
    await this.complete('history', 'payment', organizationId, at);
    const listed = await this.periods.list(organizationId, filter, at, page);
    const states = await statesOf(this.paymentStreams, listed.items, at);
    // A contact belongs to one originator: all of the payments match, or none.
    const { originatorId = null } = filter;
    if (states.some((state) => originatorId !== null && state.originatorId !== originatorId))
      return { items: [], next: null };
    return { ...listed, items: states.map(paymentListItem) };
  }

  /** What was created by then, whatever has become of it since. */
  private async created(
    organizationId: string,
    filter: Omit<PaymentFilter, 'status' | 'paymentRail'>,
    at: string,
    page: PageOfPayments,
  ): Promise<ListPage<PaymentListItem>> {
    await this.complete('payments', 'payment', organizationId, at);
    const { createdTo = at } = filter;
    const upTo = { ...filter, createdTo: createdTo < at ? createdTo : at };
    const { items, next } = await this.current.list(organizationId, upTo, page);
    const ids = items.map(({ paymentId }) => paymentId);
    const states = await statesOf(this.paymentStreams, ids, at);
    return { next, items: states.map(paymentListItem) };
  }

  /**
   * Payments with a label are few, so they are read until the page is full, but only so many in a request: then the
   * page is shorter than its limit. The history has no index by label, which every change of a status would write.
   */
  private async labeled(
    organizationId: string,
    { status, paymentRail, ...constant }: PaymentFilter,
    at: string,
    { limit, after }: PageOfPayments,
  ): Promise<ListPage<PaymentListItem>> {
    const found: PaymentListItem[] = [];
    let place: ListCursor | null | undefined = after;
    for (let reads = 0; place !== null; reads += 1) {
      if (reads >= labeledReadsMax && place !== undefined) return { items: found, next: place };
      const page: PageOfPayments = { limit: labeledPageMax, after: place };
      const { items, next } = await this.created(organizationId, constant, at, page);
      const matches = items.filter(
        (item) =>
          (status === undefined || item.status === status) &&
          (paymentRail === undefined || item.paymentRail === paymentRail),
      );
      found.push(...matches);
      if (found.length > limit) break;
      place = next;
    }
    return pageOf(found, limit, {
      item: (item) => item,
      cursor: ({ createdAt, paymentId }) => ({ createdAt, id: paymentId }),
    });
  }

  /** @throws StoreUnavailable; ApiError SERVICE_UNAVAILABLE when the list may lack or misstate a record */
  private async complete(
    projection: ProjectionName,
    category: 'contact' | 'originator' | 'payment',
    organizationId: string,
    at: string,
  ): Promise<void> {
    if (!(await isCompleteAsOf(this, projection, at, waitMaxMs, [streamPrefixOf(category)])))
      throw new StoreUnavailable(`the projection ${projection} has not come to ${at} yet`);
    // A stream is recorded there before the checkpoint of the projection passes its event.
    const held = await this.quarantine.first([[projection, category]], organizationId, at);
    if (held !== null)
      throw new ApiError(
        'SERVICE_UNAVAILABLE',
        `the list may lack a ${category} as of this time: one is held back until the operator has looked at it`,
      );
  }
}

/** Only a party that was erased since has no e-mail address. */
function shown<View extends ContactView | OriginatorView>(
  view: View,
): View & { readonly erased?: true } {
  return view.email === null ? { ...view, erased: true } : view;
}

interface Streams<State> {
  loadAsOf(id: string, at: string): Promise<Loaded<State>>;
}

/** In the order of the IDs. Once a stream cannot be read, no further one is: then the list's turn is over. */
async function statesOf<State>(
  streams: Streams<State>,
  ids: readonly string[],
  at: string,
): Promise<NonNullable<State>[]> {
  const states: State[] = [];
  const left = [...ids.entries()].toReversed();
  const reader = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [index, id] = next;
      states[index] = (await streams.loadAsOf(id, at)).state;
    }
  };
  const stop = (error: unknown) => {
    left.length = 0;
    throw error;
  };
  await Promise.all(Array.from({ length: streamsAtOnceMax }, () => reader().catch(stop)));
  return states.filter((state) => state !== null && state !== undefined);
}
