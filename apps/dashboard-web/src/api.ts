/** Calls of the dashboard's API. Names, paths and types are held against the server's table by the compiler. */
import type { ApiPath, CsrfHeader, DashboardApi, OperationName } from '@pis/dashboard/api';

const apiPath: ApiPath = '/dashboard/api';
const csrfHeader: CsrfHeader = 'x-pis-dashboard';

/** An operation of the server that changes its method or path no longer compiles here. */
const routes = {
  me: ['GET', '/me'],
  signIn: ['POST', '/sign-in'],
  signOut: ['POST', '/sign-out'],
  listPayments: ['GET', '/payments'],
  getPayment: ['GET', '/payments/:paymentId'],
  createPayment: ['POST', '/payments'],
  cancelPayment: ['POST', '/payments/:paymentId/cancel'],
  showLink: ['POST', '/payments/:paymentId/link'],
  simulatePayment: ['POST', '/payments/:paymentId/simulate'],
  listContacts: ['GET', '/contacts'],
  listOriginators: ['GET', '/originators'],
  listApiKeys: ['GET', '/api-keys'],
  createApiKey: ['POST', '/api-keys'],
  revokeApiKey: ['POST', '/api-keys/:apiKeyId/revoke'],
} as const satisfies {
  readonly [Name in OperationName]?: readonly [
    DashboardApi[Name]['method'],
    DashboardApi[Name]['path'],
  ];
};

type Used = keyof typeof routes;

interface Options<Name extends Used> {
  readonly ids?: DashboardApi[Name]['ids'];
  readonly query?: DashboardApi[Name]['query'];
  readonly body?: DashboardApi[Name]['body'];
  readonly signal?: AbortSignal;
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

  /** The message for a field, if it has a problem. */
  problemOf(field: string): string | null {
    const problem = this.problems.find((one) => one.field === field);
    return problem === undefined
      ? null
      : (problem.message ?? issueTexts[problem.issue] ?? 'This value is not accepted.');
  }
}

const issueTexts: Readonly<Record<string, string | undefined>> = {
  validation_required: 'Fill in this field.',
  validation_min_length: 'Fill in this field.',
  validation_max_length: 'This text is too long.',
  validation_min: 'This number is too small.',
  validation_max: 'This number is too large.',
  validation_integer: 'Enter a number.',
  validation_enum: 'Choose one of the values.',
  validation_uuid: 'Choose one of the list.',
};

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
  { ids, query, body, signal }: Options<Name> = {},
): Promise<Page<DashboardApi[Name]['data']>> {
  const [method, path] = routes[name];
  const response = await send(addressOf(path, ids ?? {}, query ?? {}), {
    method,
    headers: {
      ...(method === 'GET' ? {} : { [csrfHeader]: '1' }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  const answer = parsed(text);
  if (!response.ok) throw failureOf(response.status, answer);
  return {
    data: answer.data as DashboardApi[Name]['data'],
    nextCursor: answer.meta?.pagination?.nextCursor ?? null,
  };
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

async function send(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { ...init, credentials: 'same-origin' });
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
