/** fetch for answers that are read whole: an answer that is longer than it may be is not read to its end. */
import type { CustomFetchOptions } from 'openid-client';

/** Metadata, keys, tokens and claims are a few kilobytes. */
export const answerBytesMax = 256 * 1024;

export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
  constructor() {
    super(`the answer has more than ${answerBytesMax} bytes`);
  }
}

/** The answer is in memory when it resolves, so the time limit in `init.signal` covers all of it. @throws AnswerTooLong */
export async function boundedFetch(url: string, init: CustomFetchOptions): Promise<Response> {
  const { body, status, statusText, headers } = await fetch(url, init as RequestInit);
  if (body === null) return new Response(null, { status, statusText, headers });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop ends the connection.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > answerBytesMax) throw new AnswerTooLong();
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status, statusText, headers });
}
