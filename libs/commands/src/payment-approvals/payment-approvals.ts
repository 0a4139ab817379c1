/**
 * Four eyes: above an amount that the organization has set, a payment of the dashboard is created only after a second
 * person has approved it.
 *
 * What always holds:
 * - the approval's stream decides. Of two people who decide at the same instant one wins;
 * - an approval has the ID that its payment will have. So one request leads to one approval and to one payment,
 *   however often it is repeated, whatever dies in between, and whatever the setting was meanwhile;
 * - only a granted approval creates a payment. A process that dies between the two leaves a granted approval, and
 *   `settle` goes on: apps/dashboard calls it for every one that was left;
 * - the setting is read directly before the append of a payment. When one request is sent twice while the setting
 *   changes, one may lead to a payment and the other to an approval. Each looks for the other's record after its own,
 *   so at least one sees both. The payment counts, and the approval is over;
 * - after a restore or a failover, which may have lost a grant and its payment, an approval from before is neither rejected
 *   nor withdrawn until the operator has compared with the banks. It can be granted: its payment has the ID that a bank
 *   may know.
 */
import type { DashboardPaymentRequest } from '@pis/contracts';
import {
  type Approval,
  approval as approvals,
  type ApprovalCommand,
  type ApprovalRefusal,
  needsApproval,
  type Originator,
  organization as organizations,
  type Refusal,
  streamIdOf,
  type User,
  user as users,
} from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  type Loaded,
  openAddresses,
  type RecordedEvent,
  repository,
  StoreUnavailable,
} from '@pis/event-store';
import { CannotOpen, KeyDestroyed, type Keyring } from '@pis/keyring';
import type { IdempotencyKeyReused } from '../payment-creation.js';
import { accountOf } from '../payment-links/approved-recipient.js';
import {
  differingFieldsOf,
  recipientText,
  type RequestFields,
  requestedPaymentId,
} from '../payment-links/link-requests.js';
import type {
  ApprovedRequestRefusal,
  LinkRequestRefusal,
  PaymentLinks,
  PaymentLinksOptions,
  RequestedPayment,
} from '../payment-links/payment-links.js';
import { now, type OwnWrites, type UseCaseOptions } from '../use-case.js';

export interface PaymentApprovalsOptions
  extends Pick<UseCaseOptions, 'store' | 'states' | 'keyring' | 'ownWrites'> {
  readonly links: PaymentLinks;
  /** See PaymentLinksOptions. */
  readonly restoredAt?: PaymentLinksOptions['restoredAt'];
  /** ISO 8601; the clock of the process when absent. */
  readonly clock?: () => string;
}

/** The payment is not created before somebody else approves it. */
export interface WaitingForApproval {
  readonly approvalId: string;
  readonly status: 'WAITING_FOR_APPROVAL';
}

/** `MAY_BE_SUBMITTED`: a restored database or a replica may lack that it was granted, and its payment. */
type DecisionRefusal = Refusal<
  Exclude<ApprovalRefusal, 'APPROVAL_ALREADY_EXISTS'> | 'MAY_BE_SUBMITTED'
>;
export type ApprovalDecisionRefusal = DecisionRefusal;
interface Decided {
  readonly approval: Approval;
  /** False for a request that repeats one. */
  readonly isNew: boolean;
}

export type ApprovalNotFound = Refusal<'APPROVAL_NOT_FOUND'>;

export class PaymentApprovals {
  private readonly approvals;
  private readonly organizations;
  private readonly users;
  private readonly store: EventStore;
  private readonly links: PaymentLinks;
  private readonly keyring: Keyring;
  private readonly ownWrites: OwnWrites;
  private readonly restoredAt: PaymentApprovalsOptions['restoredAt'];
  private readonly clock: () => string;

  constructor(options: PaymentApprovalsOptions) {
    const { store, states, keyring, links, ownWrites, restoredAt, clock = now } = options;
    this.approvals = repository(store, approvals);
    this.organizations = repository(store, organizations, { states });
    this.users = repository(store, users);
    this.store = store;
    this.links = links;
    this.keyring = keyring;
    this.ownWrites = ownWrites;
    this.restoredAt = restoredAt;
    this.clock = clock;
  }

  /**
   * Creates the payment, or an approval where the organization asks for one. Repeating it with the same key returns
   * the same, whatever became of it since.
   * @throws StoreUnavailable
   */
  async request(
    organizationId: string,
    request: DashboardPaymentRequest,
    requester: { readonly userId: string; readonly idempotencyKey: string },
    context: CommandContext,
  ): Promise<RequestedPayment | WaitingForApproval | LinkRequestRefusal> {
    const { userId, idempotencyKey } = requester;
    const approvalId = requestedPaymentId(organizationId, idempotencyKey);
    const [known, { state: organization }, isPayment] = await Promise.all([
      this.approvals.load(approvalId),
      this.organizations.load(organizationId),
      this.isPayment(approvalId),
    ]);
    if (known.state !== null) return this.repeated(known, request);
    if (organization === null) throw new Error(`organization ${organizationId} has no stream`);
    if (isPayment || !needsApproval(organization, request.paymentAmount)) {
      const created = await this.links.request(organizationId, request, requester, context);
      if (!('refused' in created)) {
        if (!created.replayed) await this.notePaid(approvalId, context);
        return created;
      }
      if (created.refused !== 'APPROVAL_NEEDED') return created;
    }
    const waiting = await this.ask(organizationId, request, { approvalId, userId }, context);
    if (!('approvalId' in waiting) || !(await this.isPayment(approvalId))) return waiting;
    await this.notePaid(approvalId, context);
    const paid = await this.links.request(organizationId, request, requester, context);
    if ('refused' in paid && paid.refused === 'APPROVAL_NEEDED')
      throw new StoreUnavailable('the existing payment cannot be read yet');
    return paid;
  }

  /** Records an approval that waits. @throws StoreUnavailable */
  private async ask(
    organizationId: string,
    request: DashboardPaymentRequest,
    { approvalId, userId }: { readonly approvalId: string; readonly userId: string },
    context: CommandContext,
  ): Promise<WaitingForApproval | LinkRequestRefusal> {
    const checked = await this.links.check(organizationId, request);
    if ('refused' in checked) return checked;
    const { originatorId, direction, recipient, paymentAmount, ...texts } = request;
    const data = {
      ...{ approvalId, organizationId, originatorId, direction, ...texts },
      contactId: 'contactId' in recipient ? recipient.contactId : null,
      ...checked,
      amountMinor: paymentAmount,
      requestedBy: userId,
    };
    const command = { type: 'RequestApproval', at: this.clock(), data } as const;
    try {
      const created = await this.approvals.create(approvalId, command, context);
      if ('refused' in created)
        return this.repeated(await this.approvals.load(approvalId), request);
      this.ownWrites.note('directory', organizationId, created.position);
      return { approvalId, status: 'WAITING_FOR_APPROVAL' };
    } catch (error) {
      // Erased since it was read: nothing can be sealed for it any more.
      if (error instanceof KeyDestroyed) return { refused: 'CONTACT_NOT_FOUND' };
      throw error;
    }
  }

  /** The payment exists: an approval that waits for a decision about it is over. Safe to repeat. */
  private async notePaid(approvalId: string, context: CommandContext): Promise<void> {
    const { state } = await this.approvals.load(approvalId);
    if (state?.status !== 'WAITING') return;
    const command = { type: 'NotePaymentCreated', at: this.clock(), data: {} } as const;
    const noted = await this.approvals.execute(approvalId, command, context);
    // Somebody has decided on it meanwhile.
    if ('refused' in noted) return;
    this.ownWrites.note('directory', state.organizationId, noted.position);
  }

  /** @throws StoreUnavailable */
  async get(organizationId: string, approvalId: string): Promise<Approval | ApprovalNotFound> {
    const { state } = await this.approvals.load(approvalId);
    return state?.organizationId === organizationId ? state : { refused: 'APPROVAL_NOT_FOUND' };
  }

  /** The account of the originator. Null if it is not the one that the approval holds for. @throws StoreUnavailable */
  async originatorAccount(
    { originatorAccount }: Approval,
    originator: Originator,
  ): Promise<Originator['bankAccount']> {
    // An earlier release noted none: its approvals hold for whatever account the originator has.
    if (originatorAccount === undefined) return originator.bankAccount;
    try {
      const account = await accountOf(this.keyring, originator);
      return account === originatorAccount ? originator.bankAccount : null;
    } catch (error) {
      if (error instanceof KeyDestroyed) return null;
      throw error;
    }
  }

  /** Those of the organization among them, in their order. For a page of a list. @throws StoreUnavailable */
  async getAll(
    organizationId: string,
    approvalIds: readonly string[],
  ): Promise<readonly Approval[]> {
    const streams = await this.store.readStreams(
      approvalIds.map((id) => this.approvals.streamIdOf(id)),
    );
    return streams.flatMap((events) => {
      const { state } = this.approvals.fold(events);
      return state?.organizationId === organizationId ? [state] : [];
    });
  }

  /**
   * Grants it and creates the payment. If the payment cannot be created now, the answer is a granted approval, and
   * `settle` creates the payment later. So is the answer to a request that repeats one: the first may be creating it.
   * @throws StoreUnavailable when it is not known whether it was granted
   */
  async grant(
    organizationId: string,
    approvalId: string,
    { userId }: Pick<User, 'userId'>,
    context: CommandContext,
  ): Promise<Approval | DecisionRefusal> {
    const decider = await this.deciderOf(organizationId, userId);
    if ('refused' in decider) return decider;
    const command = { type: 'GrantApproval', at: this.clock(), data: decider } as const;
    const granted = await this.decided(organizationId, approvalId, command, context);
    if ('refused' in granted) return granted;
    if (!granted.isNew) return granted.approval;
    try {
      return await this.settle(approvalId);
    } catch (error) {
      if (error instanceof StoreUnavailable) return granted.approval;
      throw error;
    }
  }

  /** @throws StoreUnavailable */
  async reject(
    organizationId: string,
    approvalId: string,
    { userId, reason }: { readonly userId: string; readonly reason: string },
    context: CommandContext,
  ): Promise<Approval | DecisionRefusal> {
    const decider = await this.deciderOf(organizationId, userId);
    if ('refused' in decider) return decider;
    const data = { ...decider, reason };
    const command = { type: 'RejectApproval', at: this.clock(), data } as const;
    return approvalOf(await this.decided(organizationId, approvalId, command, context));
  }

  /** By who requested it. @throws StoreUnavailable */
  async withdraw(
    organizationId: string,
    approvalId: string,
    { userId }: Pick<User, 'userId'>,
    context: CommandContext,
  ): Promise<Approval | DecisionRefusal> {
    const command = { type: 'WithdrawApproval', at: this.clock(), data: { userId } } as const;
    return approvalOf(await this.decided(organizationId, approvalId, command, context));
  }

  /**
   * Creates the payment of a granted approval, and notes what became of it. Safe to repeat. The one who calls it for an
   * approval that others may be settling must be the only one (apps/dashboard): of two, one may note a refusal while
   * the other creates the payment. An append may come late, for example of a process that was halted. So it is also
   * called for refusals of the last minutes, and corrects the one whose payment exists.
   * @throws StoreUnavailable
   */
  async settle(approvalId: string): Promise<Approval> {
    const { state, lastEvent } = await this.approvals.load(approvalId);
    if (state === null || lastEvent === null) throw new Error(`no approval ${approvalId}`);
    const isCorrected = state.status === 'REFUSED' && (await this.isPayment(approvalId));
    if (isCorrected) return this.noted(state, 'CREATED', await this.contextOf(lastEvent));
    if (state.status !== 'GRANTED' || state.decidedBy === null) return state;
    const { organizationId, requestedBy, decidedBy: approvedBy } = state;
    const { recipient, originatorAccount = null } = state;
    const approval = { requestedBy, approvedBy };
    const approved = { paymentId: approvalId, approval, recipient, originatorAccount };
    // The same whoever calls it: the approver's, with the decision as the cause.
    const context = await this.contextOf(lastEvent);
    const request = requestOf(state);
    const created =
      request === null
        ? await this.ofErased(approvalId)
        : await this.links.requestApproved(organizationId, request, approved, context);
    return this.noted(state, created, context);
  }

  private async contextOf(event: RecordedEvent): Promise<CommandContext> {
    const { actor, requestId, correlationId, traceparent } = event.metadata;
    const cause = { actor, requestId, correlationId, causationId: event.id, traceparent };
    try {
      const [caller] = await openAddresses(this.store, [event]);
      return caller ? { ...cause, caller } : cause;
    } catch (error) {
      // An address that nobody can open any more holds up no payment.
      if (error instanceof CannotOpen) return cause;
      throw error;
    }
  }

  private async noted(
    { approvalId, organizationId }: Approval,
    created: Parameters<typeof noteOf>[0],
    context: CommandContext,
  ): Promise<Approval> {
    const noted = await this.approvals.execute(approvalId, noteOf(created, this.clock()), context);
    if ('refused' in noted || noted.state === null)
      throw new Error(`approval ${approvalId} could not be settled`);
    this.ownWrites.note('directory', organizationId, noted.position);
    return noted.state;
  }

  /** Ends a waiting approval of somebody who was erased. Safe to repeat. @throws StoreUnavailable */
  async end(approvalId: string, context: CommandContext): Promise<void> {
    const data = { cause: 'PARTY_ERASED' } as const;
    const command = { type: 'EndApproval', at: this.clock(), data } as const;
    const ended = await this.approvals.execute(approvalId, command, context);
    if ('refused' in ended) throw new Error(`approval ${approvalId}: ${ended.refused}`);
  }

  /** The recipient may have been erased after the payment was created. */
  private async ofErased(approvalId: string): Promise<'CREATED' | Refusal<'CONTACT_NOT_FOUND'>> {
    return (await this.isPayment(approvalId)) ? 'CREATED' : { refused: 'CONTACT_NOT_FOUND' };
  }

  private async isPayment(paymentId: string): Promise<boolean> {
    const first = { from: 0, maxCount: 1, leaveSealed: true };
    return (await this.store.readStream(streamIdOf('payment', paymentId), first)).length > 0;
  }

  /** As the user's stream says now: who was disabled or demoted since the request came may not decide. */
  private async deciderOf(
    organizationId: string,
    userId: string,
  ): Promise<Pick<User, 'userId' | 'role'> | Refusal<'ROLE_CANNOT_APPROVE'>> {
    const { state } = await this.users.load(userId);
    return state === null || state.isDisabled || state.organizationId !== organizationId
      ? { refused: 'ROLE_CANNOT_APPROVE' }
      : { userId, role: state.role };
  }

  private async decided(
    organizationId: string,
    approvalId: string,
    command: ApprovalCommand,
    context: CommandContext,
  ): Promise<Decided | DecisionRefusal> {
    const found = await this.get(organizationId, approvalId);
    if ('refused' in found) return found;
    if (command.type !== 'GrantApproval') {
      // Nobody rejects or withdraws what is paid. A process may have died before it noted the payment.
      if (await this.isPayment(approvalId)) await this.notePaid(approvalId, context);
      else if (await this.mayBePaid(found)) return { refused: 'MAY_BE_SUBMITTED' };
    }
    const decided = await this.approvals.execute(approvalId, command, context);
    // It exists: only a creation is refused like that.
    if ('refused' in decided) return decided as DecisionRefusal;
    const { state, events, position } = decided;
    this.ownWrites.note('directory', organizationId, position);
    return state === null
      ? { refused: 'APPROVAL_NOT_FOUND' }
      : { approval: state, isNew: events.length > 0 };
  }

  private async mayBePaid({ status, requestedAt }: Approval): Promise<boolean> {
    const restoredAt = status === 'WAITING' ? await this.restoredAt?.() : null;
    return restoredAt != null && Date.parse(requestedAt) <= restoredAt.getTime();
  }

  /** The next list must show it: the answer to the first request may have been lost. */
  private repeated(
    { state, lastEvent }: Loaded<Approval | null>,
    request: DashboardPaymentRequest,
  ): WaitingForApproval | IdempotencyKeyReused {
    if (state === null) throw new StoreUnavailable('the existing approval cannot be read yet');
    const { approvalId, organizationId } = state;
    this.ownWrites.note('directory', organizationId, lastEvent?.position ?? null);
    const differingFields = differingFieldsOf(fieldsOf(state), request);
    return differingFields.length === 0
      ? { approvalId, status: 'WAITING_FOR_APPROVAL' }
      : { refused: 'IDEMPOTENCY_KEY_REUSED', paymentId: approvalId, differingFields };
  }
}

function approvalOf(decided: Decided | DecisionRefusal): Approval | DecisionRefusal {
  return 'refused' in decided ? decided : decided.approval;
}

/** Null when the recipient was erased. */
function requestOf(approval: Approval): DashboardPaymentRequest | null {
  const { originatorId, direction, contactId, recipient, amountMinor } = approval;
  const { paymentNote, externalPaymentId } = approval;
  if (recipient.erased === true) return null;
  const { entityType, firstName, lastName, companyName } = recipient;
  return {
    ...{ originatorId, direction, paymentAmount: amountMinor, paymentNote, externalPaymentId },
    recipient:
      contactId === null ? { entityType, firstName, lastName, companyName } : { contactId },
  };
}

/** The fields of the original request. */
function fieldsOf(approval: Approval): RequestFields {
  const { originatorId, direction, contactId, recipient, amountMinor } = approval;
  const { paymentNote, externalPaymentId } = approval;
  return {
    ...{ originatorId, direction, paymentAmount: amountMinor, paymentNote, externalPaymentId },
    recipient: recipientText(contactId === null ? recipient : { contactId }),
  };
}

function noteOf(
  created: RequestedPayment | ApprovedRequestRefusal | 'CREATED',
  at: string,
): Extract<ApprovalCommand, { type: 'NotePaymentCreated' | 'NotePaymentRefused' }> {
  if (created === 'CREATED' || !('refused' in created))
    return { type: 'NotePaymentCreated', at, data: {} };
  const { refused } = created;
  const found = refused === 'INVALID_REQUEST' ? created.problems : [];
  const problems = found.map(({ field, issue }) => ({ field, issue }));
  return { type: 'NotePaymentRefused', at, data: { refused, problems } };
}
