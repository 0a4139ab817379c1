/** `pis`: the operator's command (docs/specification.md, rules command-1 ff.). */
import { ConfigurationError, onWarning } from '@pis/service-kit/stores';
import { Command, CommanderError } from 'commander';
import { groups } from './groups.js';
import { CommandFailed, describe, shown } from './output.js';

/** PostgreSQL's codes for a table, column or function that is not there. */
const schemaMissing = ['42P01', '42703', '42883'];

const program = new Command('pis')
  .description("The operator's command of the Payment Initiation Service")
  .showHelpAfterError();
inherit(program);

const [firstWord = ''] = process.argv.slice(2);
const asked = Object.hasOwn(groups, firstWord) ? [groups[firstWord]] : Object.values(groups);
for (const load of asked) if (load !== undefined) program.addCommand(inherit(await load()));

/** Subcommands do not inherit these by themselves when they are added. */
function inherit(command: Command): Command {
  command.exitOverride().configureOutput({
    outputError: (text, write) => write(text.replace(/^error: /, 'pis: ')),
  });
  command.commands.forEach(inherit);
  return command;
}

/** The last one. A command that waits for its output gets it, too; one that does not has done its work by then. */
let outputError: NodeJS.ErrnoException | null = null;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` has seen enough, and nobody wants to know.
  if (error.code !== 'EPIPE') {
    if (outputError === null)
      process.stderr.write(`pis: cannot write the output: ${error.message}\n`);
    process.exitCode = 1;
  }
  outputError = error;
});
onWarning(({ name, message }) => process.stderr.write(`pis: ${name}: ${message}\n`));
try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else if (error === outputError) process.exitCode = 1;
  else {
    const expected = error instanceof CommandFailed || error instanceof ConfigurationError;
    const reason = expected ? error.message : describe(error) + hint(error);
    process.stderr.write(`pis: ${shown(reason)}\n`);
    process.exitCode = 1;
  }
}

/** What the operator may have forgotten, or does next. */
function hint(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && schemaMissing.includes(String(cause.code)))
      return ' (has it been prepared with pis migrate?)';
    // By name: its class would load the event store for every command.
    if (cause.name === 'UnreadableEvent')
      return ' (see PisStreamsQuarantined in docs/runbooks/log.md)';
  }
  return '';
}
