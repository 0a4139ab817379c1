import { allTopicSpecs, type BrokerApp, brokerApps, brokerRights } from '@pis/contracts';
import {
  applyAcls,
  applyTopics,
  errorTypes,
  type KafkaSettings,
  productionReplication,
  type Replication,
} from '@pis/messaging/clients';
import { kafkaSettings } from '@pis/service-kit/stores';
import { Command, InvalidArgumentError } from 'commander';
import { readConfigWithoutKeys } from '../context.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';

const { factor, minInsyncReplicas } = productionReplication;
const replicasMax = 100;

interface ApplyOptions extends OutputOptions {
  readonly replicationFactor?: number;
  readonly minInsyncReplicas?: number;
  readonly dryRun?: boolean;
  readonly addPartitions?: boolean;
  readonly acls?: boolean;
  readonly principal?: Principals;
}

/** By app. */
type Principals = Readonly<Partial<Record<BrokerApp, string>>>;

export function kafkaCommands(): Command {
  const kafka = new Command('kafka').description('the broker');
  withJson(
    kafka
      .command('apply')
      .description('create missing topics and ACLs; report differences; never delete')
      .option('--dry-run', 'change nothing, say what would be changed')
      .option('--add-partitions', 'raise partitions to the declared number; moves keys')
      .option('--acls', 'also create the ACLs of each app')
      .option(
        '--principal <app=principal>',
        'whom an app is; User:pis-<app> if not given',
        principal,
      )
      .option('--replication-factor <n>', `in production ${factor} if not given`, replicas)
      .option('--min-insync-replicas <n>', `in production ${minInsyncReplicas}`, replicas),
  ).action(async (options: ApplyOptions) => {
    const { config } = readConfigWithoutKeys();
    const settings = kafkaSettings(config, 'pis-cli');
    const prefix = config.KAFKA_PREFIX;
    const replication = replicationOf(options, config.PIS_ENVIRONMENT === 'production');
    const topics = await appliedTopics(settings, prefix, replication, options);
    const acls = options.acls ? { acls: await appliedAcls(settings, prefix, options) } : {};
    print({ topics, ...acls }, options);
    const atRisk = topics.filter(({ isAtRisk }) => isAtRisk).map(({ topic }) => topic);
    if (atRisk.length > 0)
      throw new CommandFailed(
        `the loss of one broker may lose messages of ${atRisk.join(', ')}: change them, or say with --replication-factor and --min-insync-replicas that this is enough`,
      );
  });
  return kafka;
}

async function appliedTopics(
  settings: KafkaSettings,
  prefix: string,
  replication: Replication | null,
  { dryRun = false, addPartitions = false }: ApplyOptions,
) {
  const options = {
    prefix,
    dryRun,
    addPartitions,
    ...(replication === null ? {} : { replication }),
  };
  return applyTopics(settings, options, allTopicSpecs()).catch((error: unknown) => {
    if (replication === null || !errorTypes(error).includes('INVALID_REPLICATION_FACTOR'))
      throw error;
    throw new CommandFailed(
      `there are fewer than ${replication.factor} brokers: add some, or say with --replication-factor and --min-insync-replicas that fewer are enough`,
    );
  });
}

/** @throws CommandFailed when the brokers check no ACLs */
export async function appliedAcls(
  settings: KafkaSettings,
  prefix: string,
  { dryRun = false, principal: principals = {} }: Pick<ApplyOptions, 'dryRun' | 'principal'>,
) {
  const principalOf = (app: BrokerApp) => principals[app] ?? `User:pis-${app}`;
  return applyAcls(settings, brokerRights({ prefix, principalOf }), { dryRun }).catch(
    (error: unknown) => {
      if (!errorTypes(error).includes('SECURITY_DISABLED')) throw error;
      throw new CommandFailed(
        'the brokers check no ACLs: set authorizer.class.name there, or leave --acls out',
      );
    },
  );
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

function replicas(given: string): number {
  const number = Number(given);
  if (!Number.isInteger(number) || number < 1 || number > replicasMax)
    throw new InvalidArgumentError(`a whole number from 1 to ${replicasMax}.`);
  return number;
}

function principal(given: string, before: Principals = {}): Principals {
  const [app = '', ...rest] = given.split('=');
  const known = brokerApps.find((name) => name === app);
  const name = rest.join('=');
  if (known === undefined || !/^User:./.test(name))
    throw new InvalidArgumentError(`one of ${brokerApps.join(', ')}, then =User:NAME.`);
  return { ...before, [known]: name };
}
