/** Calls of the dashboard's API. Names, paths and types are held against the server's table by the compiler. */
import type {
  ApiPath,
  CsrfHeader,
  DashboardApi,
  OperationName,
  UnattendedHeader,
} from '@pis/dashboard/api';
import { Attendance } from './attendance.js';
import { type IssueTexts, issueText } from './issue-texts.js';

const apiPath: ApiPath = '/dashboard/api';
const csrfHeader: CsrfHeader = 'x-pis-dashboard';
const unattendedHeader: UnattendedHeader = 'x-pis-unattended';
/** Of this page. */
export const attendance = new Attendance();

/** An operation of the server that changes its method or path no longer compiles here. */
const routes = {
  session: ['GET', '/session'],
  signIn: ['POST', '/sign-in'],
  signInOptions: ['GET', '/sign-in'],
  beginOidc: ['POST', '/sign-in/oidc'],
  signOut: ['POST', '/sign-out'],
  changePassword: ['POST', '/me/password'],
  prepareOneTimeCodes: ['POST', '/me/one-time-codes'],
  confirmOneTimeCodes: ['POST', '/me/one-time-codes/confirm'],
  disableOneTimeCodes: ['POST', '/me/one-time-codes/disable'],
  listSessions: ['GET', '/me/sessions'],
  endSession: ['POST', '/me/sessions/:sessionId/end'],
  endOtherSessions: ['POST', '/me/sessions/end-others'],
  getOverview: ['GET', '/overview'],
  listPayments: ['GET', '/payments'],
  exportPayments: ['GET', '/payments/export'],
  listExports: ['GET', '/exports'],
  createExport: ['POST', '/exports'],
  cancelExport: ['POST', '/exports/:exportId/cancel'],
  listStatements: ['GET', '/statements'],
  getPayment: ['GET', '/payments/:paymentId'],
  createPayment: ['POST', '/payments'],
  cancelPayment: ['POST', '/payments/:paymentId/cancel'],
  showLink: ['POST', '/payments/:paymentId/link'],
  simulatePayment: ['POST', '/payments/:paymentId/simulate'],
  getLogo: ['GET', '/organization/logo'],
  listApprovals: ['GET', '/approvals'],
  countApprovals: ['GET', '/me/approvals'],
  getApproval: ['GET', '/approvals/:approvalId'],
  approve: ['POST', '/approvals/:approvalId/approve'],
  reject: ['POST', '/approvals/:approvalId/reject'],
  withdraw: ['POST', '/approvals/:approvalId/withdraw'],
  getApprovalSettings: ['GET', '/settings/approvals'],
  changeApprovalSettings: ['PATCH', '/settings/approvals'],
  getFees: ['GET', '/settings/fees'],
  setFees: ['POST', '/settings/fees'],
  listContacts: ['GET', '/contacts'],
  getContact: ['GET', '/contacts/:contactId'],
  createContact: ['POST', '/contacts'],
  changeContact: ['PATCH', '/contacts/:contactId'],
  applyCorrection: ['POST', '/contacts/:contactId/correction/apply'],
  dismissCorrection: ['POST', '/contacts/:contactId/correction/dismiss'],
  listOriginators: ['GET', '/originators'],
  listWebhooks: ['GET', '/webhooks'],
  createWebhook: ['POST', '/webhooks'],
  getWebhook: ['GET', '/webhooks/:webhookId'],
  changeWebhook: ['PATCH', '/webhooks/:webhookId'],
  deleteWebhook: ['DELETE', '/webhooks/:webhookId'],
  rotateWebhookSecret: ['POST', '/webhooks/:webhookId/rotate-secret'],
  testWebhook: ['POST', '/webhooks/:webhookId/test'],
  replayWebhook: ['POST', '/webhooks/:webhookId/replays'],
  cancelReplay: ['POST', '/webhooks/:webhookId/replays/:replayId/cancel'],
  listDeliveries: ['GET', '/webhooks/:webhookId/deliveries'],
  getDelivery: ['GET', '/deliveries/:deliveryId'],
  redeliver: ['POST', '/deliveries/:deliveryId/redeliver'],
  getOriginator: ['GET', '/originators/:originatorId'],
  changeOriginator: ['PATCH', '/originators/:originatorId'],
  listApiKeys: ['GET', '/api-keys'],
  createApiKey: ['POST', '/api-keys'],
  revokeApiKey: ['POST', '/api-keys/:apiKeyId/revoke'],
  listUsers: ['GET', '/users'],
  createUser: ['POST', '/users'],
  changeUserRole: ['POST', '/users/:userId/role'],
  disableUser: ['POST', '/users/:userId/disable'],
  enableUser: ['POST', '/users/:userId/enable'],
  resetUser: ['POST', '/users/:userId/reset'],
} as const satisfies {
  readonly [Name in OperationName]?: readonly [
    DashboardApi[Name]['method'],
    DashboardApi[Name]['path'],
  ];
};

type Used = keyof typeof routes;

/** A read that takes longer has failed. Longer than the server's own limit would be a lost answer. */
const readTimeoutMs = 30_000;

interface Options<Name extends Used> {
  readonly ids?: DashboardApi[Name]['ids'];
  readonly query?: DashboardApi[Name]['query'];
  readonly body?: DashboardApi[Name]['body'];
  readonly signal?: AbortSignal;
  /** How long a read may take. Changes have no limit here: nobody would know what became of them. */
  readonly timeoutMs?: number;
}

export interface Problem {
  readonly field: string;
  readonly issue: string;
  readonly message?: string;
}

export interface Page<Data> {
  readonly data: Data;
  readonly nextCursor: string | null;
}

/** What the server refused, or that it did not answer. */
export class ApiFailure extends Error {
  constructor(
    /** 0 without an answer. */
    readonly status: number,
    readonly code: string,
    message: string,
    readonly problems: readonly Problem[] = [],
  ) {
    super(message);
    this.name = 'ApiFailure';
  }

  /** For a person: what is wrong with what was asked for, if the server says so. */
  get explanation(): string {
    const texts = this.problems.map((problem) => issueText(problem));
    return texts.length === 0 ? this.message : [...new Set(texts)].join(' ');
  }

  /** What to show at a field, if it has a problem. @param own the form's own words for some codes */
  problemOf(field: string, own: IssueTexts = {}): string | null {
    const problem = this.problems.find((one) => one.field === field);
    return problem === undefined ? null : issueText(problem, own);
  }
}

/** @throws ApiFailure */
export async function call<Name extends Used>(
  name: Name,
  options: Options<Name> = {},
): Promise<DashboardApi[Name]['data']> {
  return (await callPage(name, options)).data;
}

/** A page of a list. @throws ApiFailure */
export async function callPage<Name extends Used>(
  name: Name,
  { ids, query, body, signal, timeoutMs = readTimeoutMs }: Options<Name> = {},
): Promise<Page<DashboardApi[Name]['data']>> {
  const [method, path] = routes[name];
  const isRead = method === 'GET';
  const signals = [signal ?? [], isRead ? AbortSignal.timeout(timeoutMs) : []].flat();
  const { response, text } = await answered(async () => {
    const response = await fetch(addressOf(path, ids ?? {}, query ?? {}), {
      method,
      headers: {
        ...(isRead ? {} : { [csrfHeader]: '1' }),
        ...(isRead && attendance.isUnattended ? { [unattendedHeader]: '1' } : {}),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: 'same-origin',
      signal: AbortSignal.any(signals),
    });
    return { response, text: await response.text() };
  });
  const answer = parsed(text);
  if (!response.ok) throw failureOf(response.status, answer);
  return {
    data: answer.data as DashboardApi[Name]['data'],
    nextCursor: answer.meta?.pagination?.nextCursor ?? null,
  };
}

/** An answer that is read as it arrives. Reading it fails when it breaks off. @throws ApiFailure */
export async function stream<Name extends Used>(
  name: Name,
  { ids, query, signal }: Pick<Options<Name>, 'ids' | 'query' | 'signal'>,
): Promise<Response> {
  const [method, path] = routes[name];
  const response = await answered(() =>
    fetch(addressOf(path, ids ?? {}, query ?? {}), {
      method,
      credentials: 'same-origin',
      ...(signal === undefined ? {} : { signal }),
    }),
  );
  if (!response.ok) throw failureOf(response.status, parsed(await response.text()));
  return response;
}

interface Answer {
  readonly data?: unknown;
  readonly meta?: { readonly pagination?: { readonly nextCursor: string | null } };
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly details?: readonly Problem[];
  };
}

function addressOf(path: string, ids: object, query: object): string {
  const filled = Object.entries(ids).reduce(
    (part, [id, value]) => part.replace(`:${id}`, encodeURIComponent(String(value))),
    path,
  );
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `${apiPath}${filled}${search === '' ? '' : `?${search}`}`;
}

/** @throws ApiFailure without an answer, and AbortError when the caller has ended it */
async function answered<Result>(exchange: () => Promise<Result>): Promise<Result> {
  try {
    return await exchange();
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiFailure(0, 'NO_ANSWER', 'The server does not answer. Try again in a moment.');
  }
}

function parsed(text: string): Answer {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return {};
  }
}

function failureOf(status: number, { error }: Answer): ApiFailure {
  return new ApiFailure(
    status,
    error?.code ?? 'UNKNOWN',
    error?.message ?? `The server answered with status ${status}.`,
    error?.details ?? [],
  );
}
