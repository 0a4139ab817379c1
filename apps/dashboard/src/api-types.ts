/**
 * The dashboard's API as its web app sees it: types only. Everything is below `apiPath`.
 *
 * - Every answer is `{ data, meta: { timestamp, pagination? } }`, every error `{ error: { code, message, details? } }`.
 * - Every request but GET must carry the header `csrfHeader` with the value `1`, and JSON if it has a body.
 * - A GET that the page makes by itself carries `unattendedHeader` with the value `1`, and does not keep the session.
 * - The session is a cookie that scripts cannot read. 401 means: show the sign-in page.
 */
import type { BodyInOf, DataOf, IdsOf, QueryInOf } from './operation.js';
import type { OperationName, Operations } from './operations.js';

export type { ValidationCode } from '@pis/contracts';
export type { PaymentRail } from '@pis/domain';
export type * from './operations/administration.js';
export type { ExportItem } from './operations/export-files.js';
export type { FeeSettings, FeeScheduleView } from './operations/fees.js';
export type { LiveChange } from './operations/live.js';
export type { SignInOptions } from './operations/oidc.js';
export type { Overview } from './operations/overview.js';
export type { ContactPage } from './operations/parties.js';
export type * from './operations/approvals.js';
export type * from './operations/payments.js';
export type { Me, SignedIn, TotpSetup } from './operations/session.js';
export type * from './operations/webhooks.js';
export type { OperationName } from './operations.js';

/** Method, path, and what goes in and comes out, by the name of the operation. */
export type DashboardApi = {
  readonly [Name in OperationName]: {
    readonly method: Operations[Name]['method'];
    readonly path: Operations[Name]['path'];
    readonly role: Operations[Name]['role'];
    readonly ids: IdsOf<Operations[Name]>;
    readonly query: QueryInOf<Operations[Name]>;
    readonly body: BodyInOf<Operations[Name]>;
    readonly data: DataOf<Operations[Name]>;
  };
};

export type ApiPath = '/dashboard/api';
export type CsrfHeader = 'x-pis-dashboard';
export type UnattendedHeader = 'x-pis-unattended';
