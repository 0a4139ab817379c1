/** `pis audit show`, `timeline` and `diff`: a payment's life as text, JSON, HTML, or a PDF with proofs. */
import { once } from 'node:events';
import { proveStream } from '@pis/audit';
import {
  htmlOfReport,
  type LifePoint,
  type LifeSources,
  paymentDiff,
  paymentLife,
  type PaymentLife,
  proofBundle,
  type Report,
  reportOfDiff,
  reportOfLife,
  reportOfTimeline,
  textOfDiff,
  textOfLife,
  textOfTimeline,
  timelineOf,
  visibleJson,
} from '@pis/audit/life';
import { streamIdOf } from '@pis/domain';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { hasKeys, type LogContext, withLog } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { writeForOwner } from '../owner-file.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';

const formats = ['text', 'json', 'html', 'pdf'] as const;
/** Of one payment. */
const filesMax = 10_000;
/** For a checkpoint that covers the payment. */
export const proofWait = { timeoutMs: 8_000, pollMs: 250 } as const;

interface LifeOptions extends OutputOptions {
  readonly asOf?: Date;
  readonly format: (typeof formats)[number];
  readonly out?: string;
}

interface ShowOptions extends LifeOptions, ActionOptions {
  readonly addresses: boolean;
}

type Stores = Pick<LogContext, 'store' | 'pool'>;

/** What a command tells, in each format. */
interface Told {
  readonly data: unknown;
  readonly text: string;
  readonly report: Report;
}

export function addLifeCommands(audit: Command): void {
  const show = audit
    .command('show')
    .description(
      'the life of a payment: who did what, when, from where, with which key, why this rail, files at the bank, deliveries',
    )
    .option('--as-of <time>', 'only what was recorded until then, ISO 8601', pastTime)
    .option('--no-addresses', 'leave the addresses of callers sealed: then nothing is recorded');
  shown(withOperator(show)).action(tellWhole);
  shown(
    audit
      .command('timeline')
      .description(
        'the life of a payment, one line for each thing that happened, with the time between',
      )
      .option('--as-of <time>', 'only what was recorded until then, ISO 8601', pastTime),
  ).action(tellTimeline);
  shown(
    audit
      .command('diff')
      .description('what changed in a payment between two revisions or times, field by field')
      .requiredOption('--from <point>', 'a revision, or an ISO 8601 time', point)
      .requiredOption('--to <point>', 'a revision, or an ISO 8601 time', point),
  ).action(diff);
}

function shown(command: Command): Command {
  return withJson(
    command
      .argument('<paymentId>', 'ID of the payment or collection')
      .addOption(
        new Option('--format <format>', 'pdf has the proofs of the payment attached')
          .choices(formats)
          .default('text'),
      )
      .option('--out <file>', 'write to this file; required for pdf'),
  );
}

/**
 * With a master key, addresses are opened, and it is recorded before who looks. Where that cannot be recorded, nothing is
 * shown.
 */
async function tellWhole(id: string, options: ShowOptions): Promise<void> {
  const paymentId = idGiven('PAYMENT_ID', id);
  const tell = async (stores: Stores, openAddresses: boolean) => {
    const life = await lifeOf(sourcesOf(stores, openAddresses), paymentId, options);
    const told = { data: life, text: textOfLife(life), report: reportOfLife(life) };
    await write(stores, paymentId, told, options);
    return life;
  };
  if (!options.addresses || !hasKeys()) {
    await withLog((context) => tell(context, false), { tables: true });
    return;
  }
  const outcome = ({ events }: PaymentLife) => ({
    addresses: events.filter(({ address }) => address !== null).length,
  });
  const action = { name: 'audit show', subject: { paymentId }, outcome } as const;
  await act(options, action, (context) => tell(context, true));
}

async function tellTimeline(id: string, options: LifeOptions): Promise<void> {
  const paymentId = idGiven('PAYMENT_ID', id);
  await withLog(
    async (context) => {
      const life = await lifeOf(sourcesOf(context, false), paymentId, options);
      const timeline = timelineOf(life);
      const report = reportOfTimeline(timeline);
      const told = { data: timeline, text: textOfTimeline(timeline), report };
      await write(context, paymentId, told, options);
    },
    { tables: true },
  );
}

/** @throws CommandFailed when there is no such payment */
async function lifeOf(
  sources: LifeSources,
  paymentId: string,
  { asOf }: LifeOptions,
): Promise<PaymentLife> {
  const life = await paymentLife(sources, paymentId, asOf ?? null);
  if (life === null) throw noPayment(paymentId);
  return life;
}

async function diff(
  id: string,
  options: LifeOptions & { readonly from: LifePoint; readonly to: LifePoint },
): Promise<void> {
  const paymentId = idGiven('PAYMENT_ID', id);
  await withLog(
    async (context) => {
      const found = await paymentDiff(context.store, paymentId, options.from, options.to);
      if (found === null) throw noPayment(paymentId);
      const told = { data: found, text: textOfDiff(found), report: reportOfDiff(found) };
      await write(context, paymentId, told, options);
    },
    { tables: true },
  );
}

function noPayment(paymentId: string): CommandFailed {
  return new CommandFailed(`there is no payment or collection ${paymentId}`);
}

function sourcesOf({ store, pool }: Stores, openAddresses: boolean): LifeSources {
  return {
    ...{ store, openAddresses },
    async files(paymentId) {
      const { listArchive } = await import('@pis/bank-rails/connections');
      const files = await listArchive(pool, { paymentId, max: filesMax });
      return files.map(({ createdAt: at, connection: _connection, ...file }) => ({ at, ...file }));
    },
    async deliveries(organizationId, eventIds) {
      const { deliveriesOfEvents } = await import('@pis/webhook-deliveries');
      const deliveries = await deliveriesOfEvents(pool, organizationId, eventIds);
      return deliveries.map(({ id: deliveryId, endpointId: webhookId, ...one }) => ({
        ...{ at: one.createdAt.toISOString(), deliveryId, webhookId, url: one.url },
        ...{ eventId: one.eventId, eventType: one.eventType, state: one.state },
        ...{ attempts: one.attempts, finishedAt: one.finishedAt?.toISOString() ?? null },
        ...{ lastStatusCode: one.lastStatus, lastError: one.lastError },
      }));
    },
  };
}

async function write(
  context: Stores,
  paymentId: string,
  { data, text, report }: Told,
  { json, format, out }: LifeOptions,
): Promise<void> {
  if (format === 'pdf') {
    if (out === undefined) throw new CommandFailed('--format pdf needs --out');
    const proof = await proveStream(context, await streamOf(context, paymentId), proofWait);
    const bundle = proofBundle(paymentId, proof);
    const { pdfOfReport } = await import('@pis/audit/evidence');
    const pdf = await pdfOfReport(report, { bundle, createdAt: new Date() });
    writeForOwner(out, pdf);
    return print(
      { out, sizeBytes: pdf.length, events: bundle.events.length },
      { json: json ?? false },
    );
  }
  const isJson = json === true || format === 'json';
  const bytes = isJson
    ? `${visibleJson(JSON.stringify(data))}\n`
    : format === 'html'
      ? htmlOfReport(report)
      : `${text}\n`;
  if (out !== undefined) writeForOwner(out, bytes);
  else if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
}

async function streamOf({ store }: Stores, paymentId: string): Promise<string> {
  const own = streamIdOf('payment', paymentId);
  const [first] = await store.readStream(own, { maxCount: 1, leaveSealed: true });
  return first === undefined ? streamIdOf('collection', paymentId) : own;
}

export function pastTime(text: string): Date {
  const time = timeIn(text);
  if (time === null || time.getTime() > Date.now())
    throw new InvalidArgumentError('It must be an ISO 8601 time with a zone, not in the future.');
  return time;
}

function point(text: string): LifePoint {
  if (/^\d{1,9}$/.test(text)) return { revision: Number(text) };
  const at = timeIn(text);
  if (at !== null) return { at };
  throw new InvalidArgumentError(
    'It must be a revision (0 is the first event) or an ISO 8601 time.',
  );
}

function timeIn(text: string): Date | null {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const time = new Date(text);
  return isTime && !Number.isNaN(time.getTime()) ? time : null;
}
