/** Payments above an amount wait for a second person. */
import {
  type ApprovalDecisionRefusal,
  type ApprovalNotFound,
  grantedOrThrow,
  organizationApprovals,
  type OriginatorDirectory,
  type PaymentApprovals,
  setOrganizationApprovals,
  unrefused,
} from '@pis/commands';
import { bankAccountView, originatorView, partyWithAccountView } from '@pis/contracts';
import {
  type Approval,
  type ApprovalStatus,
  expiredApprovalsAt,
  isExpired,
  unreachable,
  type User,
} from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { ApiError, type Cursors, notFound, now, type OwnWrites } from '@pis/http-api';
import { type ApprovalsQuery, type ListedApprovalStatus, waitingCountMax } from '@pis/read-models';
import type { Users } from '@pis/users';
import type { ChangeLimit } from '../change-limit.js';
import { mayCall, operations } from '../operations.js';
import type { approvalOperations, ApprovalState, ApprovalView } from '../operations/approvals.js';
import { type Handlers, Paged } from '../routes.js';
import { emailsOfActors, userActor } from './actors.js';

export interface ApprovalServices {
  readonly store: EventStore;
  readonly users: Users;
  readonly approvals: PaymentApprovals;
  readonly originators: OriginatorDirectory;
  readonly query: ApprovalsQuery;
  readonly cursors: Cursors;
  readonly ownWrites: OwnWrites;
  readonly changes: ChangeLimit;
}

type Call = Pick<User, 'userId' | 'role' | 'organizationId'>;

export function approvalHandlers(
  services: ApprovalServices,
): Handlers<keyof typeof approvalOperations> {
  const { store, approvals, query, cursors, ownWrites, changes } = services;
  const shown = (user: Call, approval: Approval) => viewOf(services, user, approval);
  return {
    async listApprovals({ organizationId, user, givenQuery }) {
      const { query: asked, after } = cursors.page('approvals', organizationId, givenQuery);
      const { limit, state } = asked;
      await ownWrites.visible('directory', organizationId);
      const filter = { status: state && statusOf[state], expiredBefore: expiredApprovalsAt(now()) };
      const { items, next } = await query.list(organizationId, filter, { limit, after });
      const found = await approvals.getAll(organizationId, items);
      const nextCursor = next && cursors.encode('approvals', organizationId, next);
      return new Paged(await viewsOf(services, user, found), { limit, nextCursor });
    },

    async countApprovals({ organizationId, user }) {
      if (!mayCall(user.role, operations.approve)) return { waiting: 0, isCapped: false };
      await ownWrites.visible('directory', organizationId);
      const others = { userId: user.userId, expiredBefore: expiredApprovalsAt(now()) };
      const waiting = await query.countWaiting(organizationId, others);
      return { waiting, isCapped: waiting === waitingCountMax };
    },

    async getApproval({ organizationId, user, ids }) {
      const found = granted(await approvals.get(organizationId, ids.approvalId));
      const [view, originator] = await Promise.all([
        shown(user, found),
        services.originators.find(organizationId, found.originatorId),
      ]);
      if ('refused' in originator)
        return { ...view, originatorName: null, originatorAccount: null };
      const { companyName, firstName, lastName } = originatorView(originator);
      const person = [firstName, lastName].filter(Boolean).join(' ');
      const account = await approvals.originatorAccount(found, originator);
      return {
        ...view,
        originatorName: companyName ?? (person === '' ? null : person),
        originatorAccount: account && bankAccountView(account),
      };
    },

    approve: async ({ organizationId, user, ids, by }) =>
      shown(user, granted(await approvals.grant(organizationId, ids.approvalId, user, by))),

    async reject({ organizationId, user, ids, body: { reason }, by }) {
      const data = { userId: user.userId, reason };
      return shown(user, granted(await approvals.reject(organizationId, ids.approvalId, data, by)));
    },

    withdraw: async ({ organizationId, user, ids, by }) =>
      shown(user, granted(await approvals.withdraw(organizationId, ids.approvalId, user, by))),

    async getApprovalSettings({ organizationId }) {
      const { amountAbove } = unrefused(await organizationApprovals(store, organizationId));
      return { amountAbove };
    },

    async changeApprovalSettings({ organizationId, body: { amountAbove }, by }) {
      changes.take(organizationId);
      unrefused(await setOrganizationApprovals({ store, by }, { organizationId, amountAbove }));
      return { amountAbove };
    },
  };
}

const statusOf = {
  WAITING: 'WAITING',
  APPROVED: 'GRANTED',
  CREATED: 'CREATED',
  REFUSED: 'REFUSED',
  REJECTED: 'REJECTED',
  WITHDRAWN: 'WITHDRAWN',
  EXPIRED: 'EXPIRED',
  ENDED: 'ENDED',
} as const satisfies Record<ApprovalState, ListedApprovalStatus>;

const stateOf = {
  WAITING: 'WAITING',
  GRANTED: 'APPROVED',
  CREATED: 'CREATED',
  REFUSED: 'REFUSED',
  REJECTED: 'REJECTED',
  WITHDRAWN: 'WITHDRAWN',
  ENDED: 'ENDED',
} as const satisfies Record<ApprovalStatus, ApprovalState>;

async function viewOf(services: ApprovalServices, user: Call, approval: Approval) {
  const [view] = await viewsOf(services, user, [approval]);
  if (view === undefined) throw new Error('an approval has a view');
  return view;
}

async function viewsOf(
  { users }: ApprovalServices,
  user: Call,
  approvals: readonly Approval[],
): Promise<readonly ApprovalView[]> {
  const people = approvals.flatMap(({ requestedBy, decidedBy }) => [requestedBy, decidedBy]);
  const actors = people.map((userId) => userId && userActor(userId));
  const emailOf = await emailsOfActors(users, user.organizationId, actors);
  const person = (userId: string) => ({ userId, email: emailOf(userActor(userId)) });
  const at = now();
  return approvals.map((approval) => {
    const { contactId, recipient, amountMinor, requestedBy, decidedBy, status } = approval;
    // Of an erased recipient nobody approves anything.
    const isOver = isExpired(approval, at) ? 'EXPIRED' : 'ENDED';
    const isWaiting = status === 'WAITING' && !isExpired(approval, at) && !recipient.erased;
    const state = status === 'WAITING' && !isWaiting ? isOver : stateOf[status];
    const isOwn = requestedBy === user.userId;
    return {
      ...{ approvalId: approval.approvalId, state, originatorId: approval.originatorId },
      ...{ direction: approval.direction, contactId, paymentAmount: amountMinor },
      recipient: partyWithAccountView(recipient),
      ...{ paymentNote: approval.paymentNote, externalPaymentId: approval.externalPaymentId },
      ...{ requestedBy: person(requestedBy), requestedAt: approval.requestedAt },
      expiresAt: approval.expiresAt,
      decidedBy: decidedBy === null ? null : person(decidedBy),
      ...{ decidedAt: approval.decidedAt, reason: approval.reason, refusal: approval.refusal },
      paymentId: status === 'CREATED' ? approval.approvalId : null,
      mayDecide: isWaiting && !isOwn && mayCall(user.role, operations.approve),
      mayWithdraw: isWaiting && isOwn && mayCall(user.role, operations.withdraw),
    };
  });
}

const granted = grantedOrThrow<ApprovalDecisionRefusal | ApprovalNotFound>(({ refused }) => {
  switch (refused) {
    case 'APPROVAL_NOT_FOUND':
      return notFound('approval');
    case 'OWN_REQUEST':
      return new ApiError('FORBIDDEN', 'nobody decides on their own request');
    case 'NOT_OWN_REQUEST':
      return new ApiError('FORBIDDEN', 'only who requested it may withdraw it');
    case 'ROLE_CANNOT_APPROVE':
      return new ApiError('FORBIDDEN', 'the user may not approve payments any more');
    case 'APPROVAL_DECIDED':
      return new ApiError('CONFLICT', 'somebody else has decided on it, or it was withdrawn');
    case 'APPROVAL_EXPIRED':
      return new ApiError('CONFLICT', 'it has waited for seven days and has expired');
    case 'PARTY_ERASED':
      return new ApiError('CONFLICT', 'the recipient was erased');
    case 'MAY_BE_SUBMITTED':
      return new ApiError(
        'CONFLICT',
        'the database was restored or failed over, and a bank may have the payment: it can be decided when the operator has compared',
      );
    case 'APPROVAL_NOT_GRANTED':
      return new ApiError('CONFLICT', 'it was not approved');
    default:
      return unreachable(refused);
  }
});
