/** What every command that acts has in common: `--actor`, `--reason`, and its record in the event store. */
import { osUser, recordOperatorAction } from '@pis/commands';
import { idSchema, validate } from '@pis/contracts';
import type { OperatorActionFacts, OperatorActionName } from '@pis/domain';
import { type Command, InvalidArgumentError } from 'commander';
import { type Context, withContext } from './context.js';
import { CommandFailed, type OutputOptions, withJson } from './output.js';

export interface ActionOptions {
  readonly actor?: string;
  readonly reason?: string;
}

export type RecordedOptions = OutputOptions & ActionOptions;

const actorLengthMax = 200;
const reasonLengthMax = 500;

/** Adds `--actor` and `--reason`. */
export function withOperator(
  command: Command,
  { isReasonRequired = false }: { readonly isReasonRequired?: boolean } = {},
): Command {
  command.option('--actor <name>', 'your name; default: your user name', text(actorLengthMax));
  return isReasonRequired
    ? command.requiredOption(
        '--reason <text>',
        'reason; recorded for good, so without names or other personal data',
        text(reasonLengthMax),
      )
    : command.option('--reason <text>', 'reason; recorded with the action', text(reasonLengthMax));
}

/** A command that acts, prints its result, and is recorded. */
export function recordedCommand(parent: Command, name: string, description: string): Command {
  return withOperator(withJson(parent.command(name).description(description)));
}

function text(lengthMax: number): (given: string) => string {
  return (given) => {
    const trimmed = given.trim();
    if (trimmed === '' || trimmed.length > lengthMax)
      throw new InvalidArgumentError(`1 to ${lengthMax} characters.`);
    return trimmed;
  };
}

/**
 * The ID given with an option. Call it before the action is recorded: records are permanent, and a wrong
 * value may be a secret, for example the API key in place of its ID.
 * @throws CommandFailed, without what was given
 */
export function idGiven(option: string, given: string): string {
  const id = validate(idSchema, given);
  if (!id.ok) throw new CommandFailed(`${option} is not a UUID`);
  return id.value;
}

/**
 * Opens the stores, records the action, does it, and records its outcome. `work` gets a context whose
 * `by` names the actor and the action. See `recordOperatorAction` for what is thrown.
 * @param action.outcome what is recorded of the result; no secrets
 */
export function act<Result>(
  { actor = osUser(), reason }: ActionOptions,
  action: {
    readonly name: OperatorActionName;
    readonly subject: OperatorActionFacts;
    readonly outcome?: (result: Result) => OperatorActionFacts;
    /** See withContext. */
    readonly checkStores?: boolean;
  },
  work: (context: Context) => Promise<Result>,
): Promise<Result> {
  const { checkStores = true } = action;
  return withContext(
    (context) =>
      recordOperatorAction(context.store, { actor, reason: reason ?? null }, action, (by) =>
        work({ ...context, by }),
      ),
    { checkStores },
  );
}
