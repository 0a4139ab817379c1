import { allTopicSpecs } from '@pis/contracts';
import { applyTopics, productionReplication, type Replication } from '@pis/messaging/clients';
import { kafkaSettings } from '@pis/service-kit/stores';
import { Command, InvalidArgumentError } from 'commander';
import { readConfig } from '../context.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';

const { factor, minInsyncReplicas } = productionReplication;
const replicasMax = 100;

interface ApplyOptions extends OutputOptions {
  readonly replicationFactor?: number;
  readonly minInsyncReplicas?: number;
}

export function kafkaCommands(): Command {
  const kafka = new Command('kafka').description('the broker');
  withJson(
    kafka
      .command('apply')
      .description('create missing topics; report differences in existing ones, change none')
      .option('--replication-factor <n>', `in production ${factor} if not given`, replicas)
      .option('--min-insync-replicas <n>', `in production ${minInsyncReplicas}`, replicas),
  ).action(async (options: ApplyOptions) => {
    const { config } = readConfig();
    const replication = replicationOf(options, config.PIS_ENVIRONMENT === 'production');
    const topics = await applyTopics(
      kafkaSettings(config, 'pis-cli'),
      { prefix: config.KAFKA_PREFIX, ...(replication === null ? {} : { replication }) },
      allTopicSpecs(),
    ).catch((error: unknown) => {
      if (replication === null || !isTooFewBrokers(error)) throw error;
      throw new CommandFailed(
        `there are fewer than ${replication.factor} brokers: add some, or say with --replication-factor and --min-insync-replicas that fewer are enough`,
      );
    });
    print({ topics }, options);
    const atRisk = topics.filter(({ isAtRisk }) => isAtRisk).map(({ topic }) => topic);
    if (atRisk.length > 0)
      throw new CommandFailed(
        `the loss of one broker may lose messages of ${atRisk.join(', ')}: change them, or say with --replication-factor and --min-insync-replicas that this is enough`,
      );
  });
  return kafka;
}

/** Null leaves it to the broker. */
function replicationOf(
  { replicationFactor, minInsyncReplicas: insync }: ApplyOptions,
  isProduction: boolean,
): Replication | null {
  if (!isProduction && replicationFactor === undefined && insync === undefined) return null;
  const given = replicationFactor ?? (isProduction ? factor : 1);
  const replication = {
    factor: given,
    minInsyncReplicas: insync ?? Math.min(given, isProduction ? minInsyncReplicas : 1),
  };
  if (replication.minInsyncReplicas > replication.factor)
    throw new CommandFailed('--min-insync-replicas exceeds the replication factor');
  return replication;
}

function isTooFewBrokers(error: unknown): boolean {
  const { type, errors } = Object(error) as { type?: unknown; errors?: unknown };
  return (
    type === 'INVALID_REPLICATION_FACTOR' || (Array.isArray(errors) && errors.some(isTooFewBrokers))
  );
}

function replicas(given: string): number {
  const number = Number(given);
  if (!Number.isInteger(number) || number < 1 || number > replicasMax)
    throw new InvalidArgumentError(`a whole number from 1 to ${replicasMax}.`);
  return number;
}
