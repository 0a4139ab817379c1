import { type UserRole, userRoles } from '@pis/domain';
import { StreamStates } from '@pis/event-store';
import { type ErasedUser, eraseUser, Passwords, Users } from '@pis/users';
import { Command, Option } from 'commander';
import { type Context, withContext } from '../context.js';
import { erasureWaits } from '../erasure.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { requireOrganization } from '../organization-given.js';
import { CommandFailed, describe, type OutputOptions, print, withJson } from '../output.js';
import { passwordOnStdin } from '../password.js';
import { granted } from '../refusals.js';

const usersOf = async ({ store, pool, keyring }: Context) =>
  new Users({
    ...{ store, pool, keyring: await keyring() },
    ...{ passwords: new Passwords(), states: new StreamStates() },
  });

const onStdin =
  'the password is one line on stdin; without one it is generated and printed this once';

export function userCommands(): Command {
  const user = new Command('user').description('who signs in to the dashboard');
  addCreate(user);
  withJson(
    user
      .command('list')
      .description("list an organization's users")
      .requiredOption('--organization <id>', 'organization ID'),
  ).action(async (options: OutputOptions & { organization: string }) => {
    const organizationId = idGiven('--organization', options.organization);
    await list(organizationId, options);
  });
  addDisable(user);
  addReset(user);
  addErase(user);
  return user;
}

/** @throws CommandFailed after the whole list, when some could not be read */
async function list(organizationId: string, options: OutputOptions): Promise<void> {
  const unreadable: { readonly userId: string; readonly unreadable: string }[] = [];
  const users = await withContext(async (context) => {
    const found = await (
      await usersOf(context)
    ).list(organizationId, (userId, error) => {
      unreadable.push({ userId, unreadable: describe(error) });
    });
    if (found.length + unreadable.length === 0)
      await requireOrganization(context.store, organizationId);
    return found;
  });
  print([...users, ...unreadable], options);
  if (unreadable.length > 0)
    throw new CommandFailed(
      `${unreadable.length} of these users cannot be read, each with the reason: see PisStreamsQuarantined in docs/runbooks/log.md`,
    );
}

function addCreate(user: Command): void {
  withJson(
    user
      .command('create')
      .description(`create a user; ${onStdin}`)
      .requiredOption('--organization <id>', 'organization ID')
      .requiredOption('--email <address>', 'e-mail address, to sign in with')
      .addOption(
        new Option('--role <role>', 'what the user may do')
          .choices(userRoles)
          .makeOptionMandatory(),
      ),
  ).action(
    async (options: OutputOptions & { organization: string; email: string; role: UserRole }) => {
      const organizationId = idGiven('--organization', options.organization);
      const { email, role } = options;
      const password = await passwordOnStdin();
      const created = await withContext(async (context) =>
        (await usersOf(context)).create({ organizationId, email, role, password }, context.by),
      );
      const { userId, password: generated } = granted(created);
      print(password === null ? { userId, password: generated } : { userId }, options);
    },
  );
}

function addDisable(user: Command): void {
  withOperator(
    withJson(
      user
        .command('disable')
        .description('disable a user; all sessions end at once')
        .requiredOption('--id <id>', 'userId, see list'),
    ),
  ).action(async (options: OutputOptions & ActionOptions & { id: string }) => {
    const userId = idGiven('--id', options.id);
    const action = { name: 'user disable', subject: { userId } } as const;
    const disabled = await act(options, action, async (context) => {
      const refusal = await (
        await usersOf(context)
      ).disable({ userId, organizationId: null }, context.by);
      return granted(refusal ?? { userId });
    });
    print(disabled, options);
  });
}

function addReset(user: Command): void {
  withOperator(
    withJson(
      user
        .command('reset')
        .description(
          `give a user a new password, without one-time codes and lock; all sessions end; ${onStdin}`,
        )
        .requiredOption('--id <id>', 'userId, see list'),
    ),
  ).action(async (options: OutputOptions & ActionOptions & { id: string }) => {
    const userId = idGiven('--id', options.id);
    const password = await passwordOnStdin();
    const action = { name: 'user reset', subject: { userId } } as const;
    const reset = await act(options, action, async (context) =>
      granted(
        await (
          await usersOf(context)
        ).reset({ userId, organizationId: null }, password, context.by),
      ),
    );
    print(password === null ? { userId, password: reset.password } : { userId }, options);
  });
}

function addErase(user: Command): void {
  withOperator(
    withJson(
      user
        .command('erase')
        .description('erase the personal data of a user for good; what the user did stays')
        .requiredOption('--id <id>', 'userId, see list'),
    ),
    { isReasonRequired: true },
  ).action(async (options: OutputOptions & ActionOptions & { id: string }) => {
    const userId = idGiven('--id', options.id);
    const action = {
      name: 'user erase',
      subject: { userId },
      outcome: ({ erasedAt, alreadyErased }: ErasedUser) => ({ erasedAt, alreadyErased }),
    } as const;
    const erased = await act(options, action, async (context) => {
      const keys = await context.keyring();
      const users = await usersOf(context);
      const destroyKeys = keys.destroy.bind(keys);
      const { keysInUseMs } = erasureWaits;
      const { pool, by } = context;
      return granted(await eraseUser({ users, pool, destroyKeys, keysInUseMs }, userId, by));
    });
    if (erased.alreadyErased)
      process.stderr.write(`pis: user ${userId} was erased before; it was done again\n`);
    print(erased, options);
  });
}
