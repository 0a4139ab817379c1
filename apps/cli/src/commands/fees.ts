/** `pis fees`: what the payments of an organization cost. */
import { openRoutingDirectory } from '@pis/bank-rails/directory';
import { demoOrganizationId, organizationFees, setOrganizationFees } from '@pis/commands';
import {
  type FeePeriod,
  type FeePeriodStatus,
  feePeriodStatuses,
  feesDueMinor,
  isMonth,
  type Month,
} from '@pis/domain';
import { FeeCollection, reopenFeePeriod } from '@pis/fees';
import { earlierClock } from '@pis/postgres';
import { Command, InvalidArgumentError } from 'commander';
import { type Context, readConfig, withContext } from '../context.js';
import { readJson } from '../json-file.js';
import { act, type ActionOptions, idGiven, recordedCommand } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, printList, withJson } from '../output.js';
import { granted } from '../refusals.js';
import { listPeriods, listUnrecorded } from './fee-lists.js';

interface OrganizationOptions extends OutputOptions {
  readonly organization?: string;
}

const organizationOption = [
  '--organization <id>',
  'organization ID; default: in the sandbox, the demo organization',
] as const;

export function feeCommands(): Command {
  const fees = new Command('fees').description('what payments cost');
  recordedCommand(fees, 'set', 'replace the fee schedules of an organization')
    .option(...organizationOption)
    .requiredOption('--file <file>', 'JSON: {"schedules":[…]}, amounts in cents')
    .action(setFees);
  recordedCommand(fees, 'collect', 'collect the fees of a month, as the monthly job does')
    .requiredOption('--year <year>', 'four digits', whole)
    .requiredOption('--month <month>', '1 to 12', whole)
    .option('--organization <id>', 'organization ID; default: all organizations')
    .action(collectFees);
  recordedCommand(fees, 'retry', 'collect the fees of a period that was given up after all')
    .requiredOption('--period <id>', 'feePeriodId, as pis fees collect prints it')
    .option('--not-debited', 'after SENT_BEFORE: the bank has not debited it, or has given it back')
    .action(retryFees);
  withJson(
    fees
      .command('periods')
      .description('the months of originators and whether their fees are collected, newest first')
      .option('--status <status>', 'for example given_up; default: all', feePeriodStatus)
      .option('--debited-twice', 'only months whose fees were debited twice')
      .option('--organization <id>', 'organization ID; default: all organizations')
      .option('--limit <number>', 'months to show, 1 to 1000', limitGiven, 50)
      .option('--offset <number>', 'months to skip', offsetGiven, 0),
  ).action(listPeriods);
  withJson(
    fees
      .command('unrecorded')
      .description('collections that ACH has and the log lacks, after it was restored'),
  ).action(listUnrecorded);
  withJson(
    fees
      .command('show')
      .description('the schedules in force')
      .option(...organizationOption),
  ).action(async (options: OrganizationOptions) => {
    const id = organizationGiven(options);
    print(granted(await withContext(({ store }) => organizationFees(store, id))), options);
  });
  return fees;
}

async function setFees(
  options: OrganizationOptions & ActionOptions & { readonly file: string },
): Promise<void> {
  const organizationId = organizationGiven(options);
  const schedules = readJson(options.file);
  const action = { name: 'fees set', subject: { organizationId } } as const;
  const set = await act(options, action, async (context) =>
    granted(await setOrganizationFees(context, organizationId, schedules)),
  );
  print(set, options);
}

interface RetryOptions extends OutputOptions, ActionOptions {
  readonly period: string;
  readonly notDebited?: true;
}

interface CollectOptions extends OrganizationOptions, ActionOptions, Month {}

async function collectFees(options: CollectOptions): Promise<void> {
  const { year, month, organization } = options;
  if (!isMonth({ year, month })) throw new CommandFailed('--year and --month are no month');
  const organizationId =
    organization === undefined ? null : idGiven('--organization', organization);
  const subject = { year, month, organizationId };
  const action = { name: 'fees collect', subject, outcome: collectedOf } as const;
  const collected = await act(options, action, (context) =>
    collect(context, { year, month }, organizationId),
  );
  if (options.json === true) print(collected, options);
  else printList(collected.data, options);
}

async function collect(context: Context, month: Month, organizationId: string | null) {
  const { store, pool, config, by } = context;
  const fees = new FeeCollection({
    ...{ store, by, sources: { store, pool }, environment: config.PIS_ENVIRONMENT },
    keyring: await context.keyring(),
    banks: openRoutingDirectory(pool, config.PIS_ENVIRONMENT),
    now: await earlierClock(pool),
    onGivenUp: (facts) => context.logger.error(facts, 'fees were not collected'),
    onDebitedTwice: (facts) => context.logger.error(facts, 'fees were debited twice'),
    onFailed: (error, facts) => context.logger.warn({ err: error, ...facts }, 'not collected'),
  });
  const periods = granted(await fees.collectMonth(month, organizationId));
  return {
    ...month,
    data: periods.map(viewOf),
  };
}

function viewOf(period: FeePeriod) {
  return {
    feePeriodId: period.feePeriodId,
    organizationId: period.organizationId,
    originatorId: period.originatorId,
    discountFee: period.discountFeeMinor,
    flatFee: period.flatFeeMinor,
    returnFee: period.returnFeeMinor,
    total: feesDueMinor(period),
    status: period.status,
    collectionId: period.collections.at(-1)?.collectionId ?? null,
  };
}

async function retryFees(options: RetryOptions): Promise<void> {
  const feePeriodId = idGiven('--period', options.period);
  const isNotDebited = options.notDebited === true;
  const action = {
    name: 'fees retry',
    subject: { feePeriodId, ...(isNotDebited && { isNotDebited }) },
    outcome: ({ status }: { readonly status: string }) => ({ status }),
  } as const;
  const period = await act(options, action, async (context) =>
    viewOf(granted(await reopenFeePeriod(context, { feePeriodId, isNotDebited }, new Date()))),
  );
  print(period, options);
}

function collectedOf({ data }: { readonly data: readonly unknown[] }) {
  return { periods: data.length };
}

function whole(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('A whole number.');
  return Number(text);
}

function feePeriodStatus(text: string): FeePeriodStatus {
  const status = feePeriodStatuses.find((one) => one === text.toUpperCase());
  if (status !== undefined) return status;
  throw new InvalidArgumentError(`One of ${feePeriodStatuses.join(', ').toLowerCase()}.`);
}

function limitGiven(text: string): number {
  const limit = whole(text);
  if (limit < 1 || limit > 1_000) throw new InvalidArgumentError('From 1 to 1000.');
  return limit;
}

function offsetGiven(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('A whole number.');
  return Number(text);
}

/** In production nobody's fees change because an option was forgotten. */
function organizationGiven({ organization }: OrganizationOptions): string {
  if (organization !== undefined) return idGiven('--organization', organization);
  if (readConfig().config.PIS_ENVIRONMENT !== 'sandbox')
    throw new CommandFailed('name the organization with --organization');
  return demoOrganizationId;
}
