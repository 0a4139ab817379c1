/**
 * The bodies of the golden events (libs/domain/golden) by their hashes: the audit computes bodies of former releases
 * again, and must get the same text. When a line that exists fails, the text of bodies has changed: undo that, or raise
 * `bodyShape` and replace the lines. A new golden event gets a new line.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { RecordedEvent } from '@pis/event-store';
import { pastEventsIn } from '@pis/integration';
import { bodyHashOf, bodyShape } from '@pis/webhook-deliveries';
import { paymentEnvelope } from '@pis/webhooks';
import type pg from 'pg';

type Samples = Readonly<
  Record<string, Readonly<Record<string, { readonly data: RecordedEvent['data'] }>>>
>;
const golden = path.join(import.meta.dirname, '../../../../libs/domain/golden');
const samplesOf = (category: string) =>
  JSON.parse(readFileSync(path.join(golden, `${category}.json`), 'utf8')) as Samples;
const id = (revision: number) => `00000000-0000-4000-8000-00000000000${revision}`;

/** Events that begin a stream. The others follow a queued payment. */
const first = ['PaymentAwaitingConfirmation', 'PaymentQueued', 'StatementGenerated'];
/** Events that make no webhooks. */
const silent = ['PaymentCorrected', 'PaymentRejectedLate', 'PaymentReturnedAgain'];

async function hashOf(category: string, type: string, version: string): Promise<string> {
  const samples = samplesOf(category);
  const names = first.includes(type)
    ? [[type, version]]
    : [
        ['PaymentQueued', '2'],
        [type, version],
      ];
  const stream = names.map(
    ([name = '', written = ''], revision): RecordedEvent => ({
      ...{ streamId: `${category}-${id(9)}`, revision, position: `${revision}`, id: id(revision) },
      ...{ type: name, data: samples[name]?.[written]?.data ?? {} },
      metadata: {
        ...{ at: `2026-11-21T09:00:0${revision}.000Z`, schemaVersion: Number(written) },
        ...{ actor: 'system:golden', requestId: null, correlationId: 'golden', causationId: null },
        ...{ traceparent: null, previousHash: null },
      },
    }),
  );
  const eventId = id(names.length - 1);
  // Asked only about events that cannot be read.
  const past = (await pastEventsIn({} as pg.Pool, stream, new Set([eventId]))).get(eventId);
  if (past === undefined || !('event' in past)) throw new Error(`${type} has no body`);
  return bodyHashOf(paymentEnvelope(past.event));
}

const hashesOfShape: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  1: {
    'PaymentAwaitingConfirmation 1': '2e0b10dc7c38a532',
    'PaymentAwaitingConfirmation 2': '2e0b10dc7c38a532',
    'PaymentAwaitingConfirmation 3': '2e0b10dc7c38a532',
    'PaymentBlocked 1': '53f1d147aefef67c',
    'PaymentCanceled 1': '63c6d3186a99f677',
    'PaymentCompleted 1': '0f9d3f34563a5596',
    'PaymentFailed 1': 'e30ec1f91df0ad0f',
    'PaymentFailedInFlight 1': '3e45e13a74e55f40',
    'PaymentProcessing 1': '9fbe299be68312d3',
    'PaymentQueued 1': '8c32d313f802dd03',
    'PaymentQueued 2': '8c32d313f802dd03',
    'PaymentReturned 1': 'eba3ea552b0bac07',
    'StatementGenerated 1': '64a3331077c75a35',
    'StatementGenerated 2': '2264cfdd87289092',
  },
};

it('bodies are the same text as in former releases of this shape', async () => {
  const hashes: Record<string, string> = {};
  for (const category of ['payment', 'statement'])
    for (const [type, versions] of Object.entries(samplesOf(category)))
      for (const version of silent.includes(type) ? [] : Object.keys(versions))
        hashes[`${type} ${version}`] = (await hashOf(category, type, version)).slice(0, 16);
  expect(hashes).toEqual(hashesOfShape[bodyShape]);
});
