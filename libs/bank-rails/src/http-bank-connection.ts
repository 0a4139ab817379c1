import { Agent, request } from 'undici';
import type { z } from 'zod';
import {
  BankAnswerUnclear,
  type BankConnection,
  BankRefused,
  type BankTerms,
  BankUnavailable,
  simulatedBankTerms,
} from './bank-connection.js';
import {
  bankPaths,
  inquiryResultSchema,
  notificationPageSchema,
  submissionResultSchema,
  voidResultSchema,
} from './bank-wire.js';
import { begunWithin } from './connections/begun-within.js';

export interface HttpBankConnectionOptions {
  /** For example `http://127.0.0.1:4000`; a path in front of `/bank/` is kept. */
  readonly baseUrl: string;
  /** Connecting, waiting for the head of the answer, and each pause in its body. */
  readonly timeoutMs?: number;
  /** What the bank behind it states. */
  readonly terms?: BankTerms;
}

const connectionsMax = 32;
const responseMaxBytes = 1 << 20;
/** The limit of a whole exchange, in multiples of `timeoutMs`: a slow answer may keep each pause short. */
const exchangeTimeouts = 3;

/** Statuses that say clearly that the bank accepted nothing. Any other leaves the outcome open. */
const refusals: readonly number[] = [400, 413, 415, 422];
/** Statuses that concern the bank as a whole. Any other concerns the one request. */
const absences: readonly number[] = [429, 502, 503, 504];

/** The connection to a bank that is a process of its own. */
export function httpBankConnection(options: HttpBankConnectionOptions): BankConnection {
  const { baseUrl, timeoutMs = 5_000, terms = simulatedBankTerms } = options;
  const base = baseUrl.replace(/\/+$/, '');
  const agent = new Agent({
    connections: connectionsMax,
    connect: { timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: responseMaxBytes,
  }).compose(begunWithin(exchangeTimeouts * timeoutMs));

  async function call<Result>(
    path: string,
    schema: z.ZodType<Result>,
    body?: unknown,
  ): Promise<Result> {
    let status: number;
    let text: string;
    try {
      const response = await request(base + path, {
        dispatcher: agent,
        signal: AbortSignal.timeout(exchangeTimeouts * timeoutMs),
        method: body === undefined ? 'GET' : 'POST',
        ...(body !== undefined && {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      });
      status = response.statusCode;
      text = await response.body.text();
    } catch (error) {
      throw new BankUnavailable(`the bank cannot be reached (${path})`, { cause: error });
    }
    if (refusals.includes(status)) throw new BankRefused(`the bank refused ${path} with ${status}`);
    if (absences.includes(status))
      throw new BankUnavailable(`the bank answered ${path} with ${status}`);
    if (status !== 200) throw new BankAnswerUnclear(`the bank answered ${path} with ${status}`);
    // An answer that cannot be read says nothing about what the bank did.
    const parsed = schema.safeParse(parseJson(text));
    if (!parsed.success) throw new BankAnswerUnclear(`the bank's answer to ${path} is unreadable`);
    return parsed.data;
  }

  return {
    terms,
    submit: (instruction) => call(bankPaths.transfers, submissionResultSchema, instruction),
    inquire: (reference) => call(bankPaths.inquiries, inquiryResultSchema, { reference }),
    void: (reference) => call(bankPaths.voids, voidResultSchema, { reference }),
    notifications: ({ after, max }) => {
      const query = new URLSearchParams({ after, max: String(max) });
      return call(`${bankPaths.notifications}?${query.toString()}`, notificationPageSchema);
    },
    // Not close(): it would wait for answers, which are requested again after a restart.
    close: () => agent.destroy(),
  };
}

/** Undefined for text that is not JSON: no schema takes it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
