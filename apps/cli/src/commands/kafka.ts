import { allTopicSpecs } from '@pis/contracts';
import { applyTopics } from '@pis/messaging';
import { kafkaSettings } from '@pis/service-kit';
import { Command } from 'commander';
import { readConfig } from '../context.js';
import { type OutputOptions, print, withJson } from '../output.js';

export function kafkaCommands(): Command {
  const kafka = new Command('kafka').description('the broker');
  withJson(
    kafka
      .command('apply')
      .description('create the topics that are missing; says what differs, changes nothing'),
  ).action(async (options: OutputOptions) => {
    const { config } = readConfig();
    print(
      {
        topics: await applyTopics(
          kafkaSettings(config, 'pis-cli'),
          { prefix: config.KAFKA_PREFIX },
          allTopicSpecs(),
        ),
      },
      options,
    );
  });
  return kafka;
}
