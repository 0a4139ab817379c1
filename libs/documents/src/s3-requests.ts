/** Requests to an S3-compatible store: how they are sent, how long they may take, and what their failures mean. */
import { S3Client } from '@aws-sdk/client-s3';
import type { S3Place } from './document-place.js';
import { DocumentStoreRefused, DocumentStoreUnavailable } from './document-store.js';

/** Of one request with its answer and its repetitions: at most a part of an upload, about 5 MiB. */
const requestTimeoutMs = 30_000;
const connectTimeoutMs = 5_000;
const attemptsMax = 3;

export function s3Client({ endpoint, region, pathStyle }: S3Place): S3Client {
  return new S3Client({
    ...(endpoint === null ? {} : { endpoint }),
    ...(region === null ? {} : { region }),
    forcePathStyle: pathStyle,
    maxAttempts: attemptsMax,
    requestHandler: { connectionTimeout: connectTimeoutMs },
    // Not every server knows Amazon's newer checksums. The seal of each chunk shows what was altered.
    ...(endpoint === null
      ? {}
      : {
          requestChecksumCalculation: 'WHEN_REQUIRED' as const,
          responseChecksumValidation: 'WHEN_REQUIRED' as const,
        }),
  });
}

export interface SendOptions {
  readonly abortSignal: AbortSignal;
}

/**
 * Runs a request, and what is awaited of its answer, within the time limit.
 * @throws DocumentStoreUnavailable when a retry may help, DocumentStoreRefused when only an operator can; and what
 * the store says about one object: NoSuchKey, NoSuchUpload, PreconditionFailed, InvalidRange
 */
export async function sent<T>(
  place: S3Place,
  request: (options: SendOptions) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const overdue = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`no answer within ${requestTimeoutMs} ms`);
    abort.abort(error);
    overdue.reject(error);
  }, requestTimeoutMs);
  try {
    return await Promise.race([request({ abortSignal: abort.signal }), overdue.promise]);
  } catch (error) {
    throw asStoreError(place, error);
  } finally {
    clearTimeout(timer);
  }
}

/** What the caller handles itself. */
const ofOneObject = new Set(['NoSuchKey', 'NoSuchUpload', 'PreconditionFailed', 'InvalidRange']);
/** Statuses below 500 that a retry may change: time-outs, conflicts, too many requests. */
const temporaryStatuses = new Set([408, 409, 425, 429]);
/** What the client itself throws when it has no credentials, or does not know the region. */
const clientProblems = /^CredentialsProviderError$|Region is missing|Could not load credentials/;

function asStoreError(place: S3Place, error: unknown): unknown {
  const name = nameOfError(error);
  if (ofOneObject.has(name) || name === 'DocumentAltered') return error;
  const message = error instanceof Error ? error.message : String(error);
  const status = statusOf(error);
  const said = [name === 'Error' ? '' : name, status ?? '', message].filter((text) => text !== '');
  const where = `PIS_DOCUMENT_STORE: s3://${place.bucket}${endpointOf(place)}`;
  const isRefused =
    status === null
      ? clientProblems.test(name) || clientProblems.test(message)
      : status < 500 && !temporaryStatuses.has(status);
  const what = said.join(' ');
  return isRefused
    ? new DocumentStoreRefused(`${where} refuses: ${what}`, { cause: error })
    : new DocumentStoreUnavailable(`${where} cannot be used now: ${what}`, { cause: error });
}

function endpointOf({ endpoint }: S3Place): string {
  return endpoint === null ? '' : ` at ${endpoint}`;
}

export function nameOfError(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

function statusOf(error: unknown): number | null {
  const { $metadata } = Object(error) as { $metadata?: { httpStatusCode?: number } };
  return $metadata?.httpStatusCode ?? null;
}
