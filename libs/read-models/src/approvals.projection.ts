/** Approvals: what is needed to find them. Whom and what they are about is in their streams alone. */
import { approval, type ApprovalStatus } from '@pis/domain';
import { domainEventOf } from '@pis/event-store';
import type { ReadTableDefinition } from './projection.js';

export type ApprovalRow = {
  readonly approvalId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly recipientId: string;
  readonly isUnsaved: boolean;
  readonly requestedBy: string;
  readonly status: ApprovalStatus;
  readonly decidedAt: string | null;
  readonly createdAt: string;
  readonly revision: number;
};

export const approvalsTable: ReadTableDefinition<ApprovalRow> = {
  name: 'approvals',
  key: 'approvalId',
  ownsStream: true,
  columns: {
    approvalId: 'uuid',
    organizationId: 'uuid',
    originatorId: 'uuid',
    recipientId: 'uuid',
    isUnsaved: 'boolean',
    requestedBy: 'uuid',
    status: 'text',
    decidedAt: 'timestamptz(3)',
    createdAt: 'timestamptz(3)',
    revision: 'integer',
  },
  category: 'approval',
  begins: ({ revision }) => revision === 0,
  evolve(row, recorded) {
    const event = domainEventOf(approval, recorded);
    if (event.type === 'ApprovalRequested') {
      const { approvalId, organizationId, originatorId, contactId, recipient } = event.data;
      return {
        ...{ approvalId, organizationId, originatorId, recipientId: recipient.id },
        ...{ isUnsaved: contactId === null, requestedBy: event.data.requestedBy },
        ...{ status: 'WAITING', decidedAt: null, createdAt: event.at },
      };
    }
    if (row === null) throw new Error('a record cannot begin with this event');
    const status = statusAfter[event.type];
    const isDecision = row.status === 'WAITING';
    return { ...row, status, decidedAt: isDecision ? event.at : row.decidedAt };
  },
};

const statusAfter = {
  ApprovalGranted: 'GRANTED',
  ApprovalRejected: 'REJECTED',
  ApprovalWithdrawn: 'WITHDRAWN',
  ApprovalEnded: 'ENDED',
  ApprovedPaymentCreated: 'CREATED',
  ApprovedPaymentRefused: 'REFUSED',
} as const satisfies Record<
  Exclude<Parameters<typeof approval.evolve>[1]['type'], 'ApprovalRequested'>,
  ApprovalStatus
>;
