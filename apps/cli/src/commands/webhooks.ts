import { randomUUID } from 'node:crypto';
import { samplePaymentEvent, testEvent } from '@pis/contracts';
import { type OperatorActionFacts, paymentEventTypes, type PaymentEventType } from '@pis/domain';
import { createSecret, syntheticEnvelope } from '@pis/webhooks';
import { Argument, Command } from 'commander';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';
import { forward, type Forwarded, type ForwardTarget, isSuccess } from '../webhooks/forward.js';
import { listen } from '../webhooks/listen.js';
import { type ApiOptions, type FeedEvent, httpUrl, PublicApi } from '../webhooks/public-api.js';

const eventTypes = [...paymentEventTypes, 'TEST'] as const;

interface ForwardOptions {
  readonly forward: string;
  readonly secret?: string;
}

export function webhookCommands(): Command {
  const webhooks = new Command('webhooks').description('deliveries, and trying a receiver out');
  withOperator(
    withJson(
      webhooks
        .command('redeliver')
        .description('send one delivery again at once, in any state')
        .requiredOption('--delivery <id>', 'delivery ID, as in X-Webhook-Delivery'),
    ),
  ).action(async (options: OutputOptions & ActionOptions & { delivery: string }) => {
    const deliveryId = idGiven('--delivery', options.delivery);
    const action = {
      name: 'webhooks redeliver',
      subject: { deliveryId },
      outcome: (result: OperatorActionFacts) => result,
    } as const;
    // It alone of these commands needs the event store's facts as messages, which take long to load.
    const { redeliverByHand } = await import('../webhooks/redelivery.js');
    print(await act(options, action, (context) => redeliverByHand(context, deliveryId)), options);
  });
  withJson(
    webhooks
      .command('listen')
      .description('forward events to your own server until Ctrl-C')
      .requiredOption(
        '--forward <url>',
        'URL of your server, for example http://localhost:4000/hook',
      )
      .option('--secret <secret>', 'signing secret; default: a new one')
      .option(
        '--api-url <url>',
        'base URL of the service; default: PIS_PUBLIC_URL, or this machine',
      ),
  ).action((options: OutputOptions & ApiOptions & ForwardOptions) =>
    listenUntilInterrupted(options),
  );
  withJson(
    webhooks
      .command('trigger')
      .description('send a sample event to an endpoint or to your own server')
      .addArgument(new Argument('<eventType>', 'of which').choices(eventTypes))
      .option('--webhook <id>', 'endpoint ID: the service sends the sample; --api-url as in listen')
      .option('--forward <url>', 'URL of your server: this command sends the sample')
      .option('--secret <secret>', 'signing secret, for --forward; default: a new one')
      .option('--api-url <url>', 'base URL of the service, for --webhook'),
  ).action(trigger);
  return webhooks;
}

async function listenUntilInterrupted(
  options: OutputOptions & ApiOptions & ForwardOptions,
): Promise<void> {
  const target = targetOf(options);
  const api = PublicApi.from(options);
  const ending = new AbortController();
  const end = () => ending.abort();
  // Kept until the end: Ctrl-C reaches a launcher and this process, and comes twice.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  // The reader of our output has gone.
  process.stdout.on('error', end);
  await listen({
    api,
    target,
    signal: ending.signal,
    onListening: () => {
      const { url, secret } = target;
      print({ listening: true, apiUrl: api.url, forwardTo: url.href, secret }, options);
    },
    onEvent: (event, result) => {
      if (options.json) print(resultOf(event, result), options);
      else process.stdout.write(`${lineOf(event, result)}\n`);
    },
    onNotice: (text) => process.stderr.write(`pis: ${text}\n`),
  });
}

async function trigger(
  type: (typeof eventTypes)[number],
  options: OutputOptions & ApiOptions & Partial<ForwardOptions> & { webhook?: string },
): Promise<void> {
  const { webhook, forward: forwardTo, secret } = options;
  if ((webhook === undefined) === (forwardTo === undefined))
    throw new CommandFailed('give either --webhook or --forward');
  const eventType = type === 'TEST' ? null : type;
  if (webhook !== undefined) {
    if (secret !== undefined)
      throw new CommandFailed('--secret needs --forward: an endpoint has its own secret');
    const result = await PublicApi.from(options).testEndpoint(webhook, eventType);
    print(result, options);
    if (!result.success) throw new CommandFailed(`not delivered: ${String(result.error)}`);
    return;
  }
  const target = targetOf({
    forward: forwardTo ?? '',
    ...(secret === undefined ? {} : { secret }),
  });
  const sample = sampleOf(eventType);
  const result = await forward(target, sample, new AbortController().signal);
  print({ secret: target.secret, ...resultOf(sample, result) }, options);
  if (!isSuccess(result.statusCode))
    throw new CommandFailed(`not delivered: ${String(result.error)}`);
}

function targetOf({ forward: url, secret }: ForwardOptions): ForwardTarget {
  if (secret === '') throw new CommandFailed('--secret is empty');
  return { url: httpUrl(url, '--forward'), secret: secret ?? createSecret() };
}

/** Refers to no real entity: marked as the service marks its own test events. */
function sampleOf(eventType: PaymentEventType | null) {
  const at = new Date().toISOString();
  const event =
    eventType === null
      ? testEvent(randomUUID(), at, randomUUID)
      : samplePaymentEvent(eventType, at, randomUUID);
  return syntheticEnvelope(event);
}

function resultOf(
  { createdAt, data }: Pick<FeedEvent, 'createdAt'> & { data: unknown },
  result: Forwarded,
) {
  const { paymentId = null } = data as { readonly paymentId?: string };
  const { eventId, eventType, ...answer } = result;
  return { eventId, eventType, paymentId, createdAt, ...answer };
}

function lineOf({ createdAt, data }: FeedEvent, result: Forwarded): string {
  const about = String(data['paymentId'] ?? data['statementId'] ?? '');
  const { eventType, statusCode, error, durationMs } = result;
  const outcome = error === null ? String(statusCode) : `failed: ${error}`;
  return `${createdAt}  ${eventType}  ${about}  ${outcome} (${durationMs} ms)`;
}
