/** `pis`: the operator's command (docs/specification.md, rules command-1 ff.). */
import { ConfigurationError, onWarning } from '@pis/service-kit';
import { Command, CommanderError } from 'commander';
import { apiKeyCommands } from './commands/api-key.js';
import { consumerCommands } from './commands/consumers.js';
import { deadLetterCommands } from './commands/dead-letters.js';
import { eventStoreCommands } from './commands/event-store.js';
import { kafkaCommands } from './commands/kafka.js';
import { migrateCommand } from './commands/migrate.js';
import { organizationCommands } from './commands/organization.js';
import { originatorCommands } from './commands/originator.js';
import { projectionCommands } from './commands/projections.js';
import { quarantineCommands } from './commands/quarantine.js';
import { railCommands } from './commands/rails.js';
import { relayCommands } from './commands/relay.js';
import { storeCommands } from './commands/store.js';
import { webhookCommands } from './commands/webhooks.js';
import { CommandFailed, describe } from './output.js';

/** PostgreSQL's codes for a table, column or function that is not there. */
const schemaMissing = ['42P01', '42703', '42883'];

const program = new Command('pis')
  .description("The operator's command of the Payment Initiation Service")
  .showHelpAfterError()
  .exitOverride();

for (const command of [
  organizationCommands(),
  originatorCommands(),
  apiKeyCommands(),
  migrateCommand(),
  eventStoreCommands(),
  kafkaCommands(),
  projectionCommands(),
  deadLetterCommands(),
  quarantineCommands(),
  railCommands(),
  consumerCommands(),
  relayCommands(),
  storeCommands(),
  webhookCommands(),
])
  program.addCommand(inherit(command));

/** Subcommands do not inherit exitOverride by themselves when they are added. */
function inherit(command: Command): Command {
  command.exitOverride();
  command.commands.forEach(inherit);
  return command;
}

onWarning(({ name, message }) => process.stderr.write(`pis: ${name}: ${message}\n`));
try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else {
    const expected = error instanceof CommandFailed || error instanceof ConfigurationError;
    process.stderr.write(`pis: ${expected ? error.message : describe(error) + hint(error)}\n`);
    process.exitCode = 1;
  }
}

/** What the operator may have forgotten. */
function hint(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && schemaMissing.includes(String(cause.code)))
      return ' (has it been prepared with pis migrate?)';
  return '';
}
