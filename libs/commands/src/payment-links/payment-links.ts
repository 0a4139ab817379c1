/**
 * Payments that are requested in the dashboard, and the links of those that need the counterparty's answer.
 *
 * What always holds:
 * - the payment's stream decides. Of a submission, a cancellation and the expiry one wins;
 * - the row of the token is written before the payment. A crash in between leaves a row without a payment,
 *   which is as good as no row. A repeated request then makes another token;
 * - an unknown token and that of a canceled payment cannot be told apart;
 * - who opens a link is recorded before the page is answered; a repeated open is counted within a second. A
 *   submission is recorded before it is made, so none is without its record.
 */
import type { DashboardPaymentRequest } from '@pis/contracts';
import {
  organization as organizations,
  type Payment,
  payment as payments,
  type Refusal,
} from '@pis/domain';
import { type CommandContext, repository, StoreUnavailable } from '@pis/event-store';
import { KeyDestroyed, type Keyring, ownerOf } from '@pis/keyring';
import { now, type OwnWrites, unlessErased } from '../use-case.js';
import {
  LinkAccesses,
  type NetworkVisitor,
  type RefusedVisit,
  type ShownAccess,
  type Visitor,
} from './link-accesses.js';
import type { LinkAccessLog, LinkTable } from './link-ports.js';
import type { ApprovedRequest } from './approved-recipient.js';
import {
  type ApprovedRequestRefusal,
  type CheckedRequest,
  type Created,
  LinkRequests,
  type LinkRequestsOptions,
  type LinkRequestRefusal,
  type Requester,
  type UnapprovedRequestRefusal,
} from './link-requests.js';
import {
  LinkSubmissions,
  type SubmissionCause,
  type SubmissionRefusal,
} from './link-submissions.js';
import { digestOf, isSameDigest, isToken, tokenPlace } from './link-token.js';
import { OrganizationProfiles } from './organization-profiles.js';
import { type FoundLink, foundLink, type LinkedPayment } from './link-view.js';
import { isUsable, type LoadedLink, ViewedLinks } from './viewed-links.js';

export type { NetworkVisitor, RefusedVisit, ShownAccess, Visitor } from './link-accesses.js';
export type { ApprovedRequest } from './approved-recipient.js';
export type { ApprovedRequestRefusal, LinkRequestRefusal, Requester } from './link-requests.js';
export type { SubmissionCause, SubmissionRefusal } from './link-submissions.js';

export interface PaymentLinksOptions extends LinkRequestsOptions {
  readonly table: LinkTable;
  readonly accesses: LinkAccessLog;
  /** What the URL of a link begins with, without a slash at its end: PIS_PUBLIC_URL. */
  readonly publicUrl: string;
  /**
   * When the database was restored, or failed over to a replica, while operators still compare it with the banks; null
   * otherwise. Whoever cancels payments needs it. Throws StoreUnavailable.
   */
  readonly restoredAt?: () => Promise<Date | null>;
  /** Repeated opens were not counted yet, and will be tried again. */
  readonly onUncounted?: (error: unknown) => void;
  /** ISO 8601; the clock of the process when absent. */
  readonly clock?: () => string;
}

export interface RequestedPayment {
  readonly paymentId: string;
  /** As it was created. */
  readonly status: 'QUEUED' | 'AWAITING_CONFIRMATION';
  /** Null for a payment without a link, and once it was canceled. */
  readonly url: string | null;
  /** Whether an earlier request with the same key created it. */
  readonly replayed: boolean;
}

/** `MAY_BE_SUBMITTED`: a restored database or a replica may lack what the counterparty has answered, and its submission. */
export type CancellationRefusal =
  | Refusal<'PAYMENT_NOT_FOUND' | 'MAY_BE_SUBMITTED'>
  | (Refusal<'NOT_ALLOWED_IN_STATUS'> & { readonly status: Payment['status'] });

/** `NO_LINK`: the payment never had one, it was canceled, or a party was erased. */
export type ShowRefusal = Refusal<'PAYMENT_NOT_FOUND' | 'NO_LINK'>;

export class PaymentLinks {
  private readonly payments;
  private readonly organizations: OrganizationProfiles;
  private readonly requests: LinkRequests;
  private readonly submissions: LinkSubmissions;
  private readonly visits: LinkAccesses;
  private readonly viewed: ViewedLinks;
  private readonly keyring: Keyring;
  private readonly ownWrites: OwnWrites;
  private readonly clock: () => string;

  constructor(private readonly options: PaymentLinksOptions) {
    const { store, states, keyring, ownWrites, clock = now } = options;
    const { onUncounted = () => undefined } = options;
    this.payments = repository(store, payments);
    const loaded = repository(store, organizations, { states });
    this.organizations = new OrganizationProfiles(async (id) => (await loaded.load(id)).state);
    this.requests = new LinkRequests(options);
    this.submissions = new LinkSubmissions(options);
    this.visits = new LinkAccesses(options.accesses, keyring, onUncounted);
    const load = (tokenDigest: string) => this.load(tokenDigest);
    this.viewed = new ViewedLinks({ store, keyring, load });
    this.keyring = keyring;
    this.ownWrites = ownWrites;
    this.clock = clock;
  }

  /**
   * INBOUND always takes a link. OUTBOUND takes one if the recipient is no saved contact or has no active
   * bank account; otherwise the payment is QUEUED at once. Repeating it with the same key returns the payment.
   * A user's request for more than the organization's amount for approvals, as it is set at the append, is refused.
   * @throws StoreUnavailable
   */
  async request(
    organizationId: string,
    request: DashboardPaymentRequest,
    requester: Requester,
    context: CommandContext,
  ): Promise<RequestedPayment | UnapprovedRequestRefusal> {
    const at = this.clock();
    const created = await this.requests.create(organizationId, request, requester, context, at);
    return 'refused' in created ? created : this.requested(organizationId, created);
  }

  /**
   * Creates the payment that a second person has approved: one, however often it is called.
   * @throws StoreUnavailable
   */
  async requestApproved(
    organizationId: string,
    request: DashboardPaymentRequest,
    approved: ApprovedRequest,
    context: CommandContext,
  ): Promise<RequestedPayment | ApprovedRequestRefusal> {
    const at = this.clock();
    const { requests } = this;
    const created = await requests.createApproved(organizationId, request, approved, context, at);
    return 'refused' in created ? created : this.requested(organizationId, created);
  }

  /** Makes all checks of a creation, and records nothing. @throws StoreUnavailable */
  check(
    organizationId: string,
    request: DashboardPaymentRequest,
  ): Promise<CheckedRequest | LinkRequestRefusal> {
    return this.requests.check(organizationId, request, this.clock());
  }

  private async requested(
    organizationId: string,
    { payment, replayed, position }: Created,
  ): Promise<RequestedPayment> {
    this.ownWrites.note('payments', organizationId, position);
    const { paymentId } = payment;
    if (!isLinked(payment)) return { paymentId, status: 'QUEUED', url: null, replayed };
    const url = await this.urlOf(payment);
    return { paymentId, status: 'AWAITING_CONFIRMATION', url, replayed };
  }

  /** A payment that is canceled already stays so. @throws StoreUnavailable */
  async cancel(
    organizationId: string,
    paymentId: string,
    context: CommandContext,
  ): Promise<Payment | CancellationRefusal> {
    const { state } = await this.payments.load(paymentId);
    if (state?.organizationId !== organizationId) return { refused: 'PAYMENT_NOT_FOUND' };
    const isWaiting = state.status === 'AWAITING_CONFIRMATION';
    if (isWaiting && (await this.mayBeSubmitted(state))) return { refused: 'MAY_BE_SUBMITTED' };
    const command = { type: 'CancelPayment', at: this.clock(), data: {} } as const;
    const canceled = await this.payments.execute(paymentId, command, context);
    const after =
      'refused' in canceled ? (await this.payments.load(paymentId)).state : canceled.state;
    if (after === null) throw new StoreUnavailable(`payment ${paymentId} cannot be read`);
    if (after.status !== 'CANCELED')
      return { refused: 'NOT_ALLOWED_IN_STATUS', status: after.status };
    if (!('refused' in canceled))
      this.ownWrites.note('payments', organizationId, canceled.position);
    // Without it, the projection disables the row. The payment is canceled in either case.
    const canceledAt = after.canceledAt ?? after.statusAt;
    await this.options.table.disable(paymentId, canceledAt).catch(ignoreUnavailable);
    return after;
  }

  private async mayBeSubmitted({ createdAt }: Payment): Promise<boolean> {
    const restoredAt = (await this.options.restoredAt?.()) ?? null;
    return restoredAt !== null && Date.parse(createdAt) <= restoredAt.getTime();
  }

  /** The URL, for a user who may create payments. The showing is recorded. @throws StoreUnavailable */
  async show(
    organizationId: string,
    paymentId: string,
    { userId }: { readonly userId: string },
  ): Promise<{ readonly url: string } | ShowRefusal> {
    const { state } = await this.payments.load(paymentId);
    if (state?.organizationId !== organizationId) return { refused: 'PAYMENT_NOT_FOUND' };
    const url = isLinked(state) ? await this.urlOf(state) : null;
    if (url === null) return { refused: 'NO_LINK' };
    await this.visits.shown({ paymentId, organizationId, userId, at: this.clock() });
    return { url };
  }

  /** Who opened, submitted and was shown the link: the newest first, up to a limit of each. @throws StoreUnavailable */
  async accesses(
    organizationId: string,
    paymentId: string,
  ): Promise<readonly ShownAccess[] | Refusal<'PAYMENT_NOT_FOUND'>> {
    const { state } = await this.payments.load(paymentId);
    if (state?.organizationId !== organizationId) return { refused: 'PAYMENT_NOT_FOUND' };
    return isLinked(state) ? this.visits.list(paymentId, state.link.counterpartyId) : [];
  }

  /** Null for an unknown link and for that of a canceled payment. @throws StoreUnavailable */
  async find(token: string): Promise<FoundLink | null> {
    const state = isToken(token) ? await this.viewed.find(digestOf(token)) : null;
    if (state === null) return null;
    const organization = await this.organizations.of(state.organizationId);
    return foundLink(state, { at: this.clock(), organization });
  }

  /** Before the process ends. Links can still be used after it. @throws StoreUnavailable */
  close(): Promise<void> {
    return this.visits.close();
  }

  /**
   * The first open of a visitor is durable when it resolves: answer the page after that. A repeated one is counted
   * within a second.
   * @throws StoreUnavailable
   */
  async recordOpen(link: FoundLink, visitor: NetworkVisitor): Promise<void> {
    await this.visits.opened(visitOf(link), visitor, this.clock());
  }

  /**
   * Records a submission that is not made: of a link that is not open, of a form with problems, or of a form
   * that another site sent.
   * @throws StoreUnavailable
   */
  async recordRefusal(
    link: FoundLink,
    visitor: NetworkVisitor,
    outcome: RefusedVisit = refusedVisits[link.state],
  ): Promise<void> {
    await this.visits.refused(visitOf(link), visitor, outcome, this.clock());
  }

  /**
   * @param submission LinkSubmission as it was sent; it is validated here
   * @param cause the request behind it, which its event names
   * @throws StoreUnavailable
   */
  async submit(
    token: string,
    submission: unknown,
    visitor: Visitor,
    cause: SubmissionCause = noRequest,
  ): Promise<{ readonly status: 'QUEUED' } | SubmissionRefusal> {
    // From its stream, and not from what was viewed: a decision is made on it.
    const found = isToken(token) ? await this.load(digestOf(token)) : null;
    if (found === null) return { refused: 'LINK_NOT_FOUND' };
    const { paymentId, organizationId, link } = found.state;
    const visit = { paymentId, organizationId, counterpartyId: link.counterpartyId };
    const accessId = await this.visits.submitting(visit, visitor, this.clock());
    const result = await unlessErased(
      this.submissions.submit(found, submission, { ...cause, ip: visitor.ip }, this.clock),
      () => ({ refused: 'LINK_NOT_FOUND' }) as const,
    );
    const outcome = 'refused' in result ? result.refused : result.status;
    // Without it, the payment's stream says what the submission came to.
    await this.visits.ended(accessId, outcome).catch(ignoreUnavailable);
    if ('refused' in result) return result;
    this.ownWrites.note('payments', organizationId, result.position);
    return { status: result.status };
  }

  /** The payment of a token, unless it was canceled. */
  private async load(tokenDigest: string): Promise<LoadedLink | null> {
    const paymentId = await this.options.table.find(tokenDigest);
    if (paymentId === null) return null;
    const loaded = await this.payments.load(paymentId);
    if (!isUsable(loaded)) return null;
    // A request that lost to another one with the same key has left a row of its own.
    return isSameDigest(loaded.state.link.tokenDigest, tokenDigest) ? loaded : null;
  }

  /** Null once it was canceled, and when the originator was erased. */
  private async urlOf(payment: LinkedPayment): Promise<string | null> {
    const { paymentId, originatorId, status, link } = payment;
    if (status === 'CANCELED') return null;
    const owner = ownerOf.originator(originatorId);
    try {
      const token = await this.keyring.open(link.sealedToken, owner, tokenPlace(paymentId));
      return `${this.options.publicUrl}/pay/${token}`;
    } catch (error) {
      if (error instanceof KeyDestroyed) return null;
      throw error;
    }
  }
}

const noRequest: SubmissionCause = { requestId: null, traceparent: null };

const refusedVisits = {
  open: 'INVALID_REQUEST',
  submitted: 'ALREADY_SUBMITTED',
  expired: 'LINK_EXPIRED',
} as const satisfies Record<FoundLink['state'], RefusedVisit>;

function visitOf({ paymentId, organizationId, counterpartyId, state }: FoundLink) {
  return { paymentId, organizationId, counterpartyId, isExpired: state === 'expired' };
}

function isLinked(payment: Payment): payment is LinkedPayment {
  return payment.link !== null;
}

function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error;
}
