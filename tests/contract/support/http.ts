/** Requests as a client without our library makes them, and what must hold for every error. */
import { type KeyKind, target } from './target.js';

export interface Call {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the full-access key. Null: none. */
  readonly as?: KeyKind | null;
}

export interface Problem {
  readonly field: string;
  readonly issue: string;
  readonly message: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of an empty body: an empty object. */
  readonly body: {
    readonly data?: unknown;
    readonly meta?: {
      readonly timestamp: string;
      readonly pagination?: { readonly limit: number; readonly nextCursor: string | null };
    };
    readonly error?: {
      readonly code: string;
      readonly message: string;
      readonly details?: readonly Problem[];
    };
  };
}

export async function call(method: string, path: string, options: Call = {}): Promise<Answer> {
  const { body, raw, as = 'full_access' } = options;
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(`${target().baseUrl}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(as === null ? {} : { authorization: `Bearer ${await target().key(as)}` }),
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(payload === undefined ? {} : { body: payload }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? {} : (JSON.parse(text) as Answer['body']),
  };
}

/** The `data` of a call that must succeed with `status`. */
export async function data<Data>(status: number, ...args: Parameters<typeof call>): Promise<Data> {
  const answer = await call(...args);
  if (answer.status !== status)
    throw new Error(`${args[0]} ${args[1]}: ${answer.status} ${answer.text}`);
  return answer.body.data as Data;
}

/** The answer is this error, in the envelope of the specification. */
export function expectError(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: {
      error: {
        code,
        message: expect.stringMatching(/\S/),
        ...(code === 'VALIDATION_ERROR' ? { details: expect.any(Array) } : {}),
      },
    },
  });
}

/** `field issue` of each problem, sorted; the answer must be a VALIDATION_ERROR. */
export function problemsOf(answer: Answer): string[] {
  expectError(answer, 400, 'VALIDATION_ERROR');
  return (answer.body.error?.details ?? []).map(({ field, issue }) => `${field} ${issue}`).sort();
}
