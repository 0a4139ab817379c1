/**
 * The dashboard's API as its web app sees it: types only. Everything is below `apiPath`.
 *
 * - Every answer is `{ data, meta: { timestamp, pagination? } }`, every error `{ error: { code, message, details? } }`.
 * - Every request but GET must carry the header `csrfHeader` with the value `1`, and JSON if it has a body.
 * - The session is a cookie that scripts cannot read. 401 means: show the sign-in page.
 */
import type { BodyInOf, DataOf, IdsOf, QueryInOf } from './operation.js';
import type { OperationName, Operations } from './operations.js';

export type * from './operations/administration.js';
export type * from './operations/payments.js';
export type { Me, SignedIn, TotpSetup } from './operations/session.js';
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
