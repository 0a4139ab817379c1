/**
 * Every operation of the dashboard, with the least role that may call it: the only table of who may do what.
 * docs/dashboard.md shows it, and a test compares the two. An operation without a role does not compile, and
 * one without a handler neither.
 */
import type { UserRole } from '@pis/domain';
import { type Declared } from './operation.js';
import { administrationOperations } from './operations/administration.js';
import { exportFileOperations } from './operations/export-files.js';
import { exportOperations } from './operations/exports.js';
import { feeOperations } from './operations/fees.js';
import { liveOperations } from './operations/live.js';
import { approvalOperations } from './operations/approvals.js';
import { oidcOperations } from './operations/oidc.js';
import { overviewOperations } from './operations/overview.js';
import { partyOperations } from './operations/parties.js';
import { paymentOperations } from './operations/payments.js';
import { sessionOperations } from './operations/session.js';
import { evidenceOperations } from './operations/payment-evidence.js';
import { statementOperations } from './operations/statements.js';
import { webhookOperations } from './operations/webhooks.js';

export const operations = {
  ...oidcOperations,
  ...sessionOperations,
  ...paymentOperations,
  ...approvalOperations,
  ...feeOperations,
  ...partyOperations,
  ...webhookOperations,
  ...administrationOperations,
  ...liveOperations,
  ...overviewOperations,
  ...exportOperations,
  ...exportFileOperations,
  ...statementOperations,
  ...evidenceOperations,
} as const satisfies Record<string, Declared>;

export type Operations = typeof operations;
export type OperationName = keyof Operations;

/** Each role may do what those before it may (domain, user.ts). */
const rank = { viewer: 0, operator: 1, approver: 2, admin: 3 } as const satisfies Record<
  UserRole,
  number
>;

/** Whether a user of this role may call it. A role that is not known may do nothing. */
export function mayCall(role: UserRole, { role: least }: Pick<Declared, 'role'>): boolean {
  return least === 'anyone' || rank[role] >= rank[least];
}
