/** `pis organization branding`: how an organization appears on the pages of payment links and in the dashboard. */
import { open } from 'node:fs/promises';
import { logoFileBytesMax, organizationBranding, setOrganizationBranding } from '@pis/commands';
import { type Command, Option } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';
import { granted } from '../refusals.js';

interface SetOptions extends OutputOptions, ActionOptions {
  readonly id: string;
  readonly name: string;
  /** A file; false for --no-logo. */
  readonly logo?: string | false;
}

export function addBranding(organization: Command): void {
  const branding = organization
    .command('branding')
    .description('the name and the logo that payers see');
  withOperator(
    withJson(
      branding
        .command('set')
        .description('set the name and the logo')
        .requiredOption('--id <id>', 'organization ID')
        .requiredOption('--name <name>', 'the name that payers see')
        .addOption(
          new Option('--logo <file>', 'a PNG of 16 KiB at most; without it the logo stays'),
        )
        .addOption(new Option('--no-logo', 'show no logo').default(undefined)),
    ),
  ).action(setBranding);
  withJson(
    branding
      .command('show')
      .description('the name and the logo in force')
      .requiredOption('--id <id>', 'organization ID'),
  ).action(async (options: OutputOptions & { id: string }) => {
    const id = idGiven('--id', options.id);
    print(granted(await withContext(({ store }) => organizationBranding(store, id))), options);
  });
}

async function setBranding({ name, logo: given, ...options }: SetOptions): Promise<void> {
  const organizationId = idGiven('--id', options.id);
  const logo =
    typeof given === 'string' ? await readFile(given) : given === false ? null : undefined;
  const subject = { organizationId, name, changesLogo: logo !== undefined };
  const action = { name: 'organization branding set', subject } as const;
  const set = await act(options, action, async (context) =>
    granted(await setOrganizationBranding(context, { organizationId, name, logo })),
  );
  print(set, options);
}

/** One byte more than is accepted, so that a file that is too long is noticed. */
async function readFile(path: string): Promise<Buffer> {
  try {
    const file = await open(path);
    try {
      const buffer = Buffer.alloc(logoFileBytesMax + 1);
      const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new CommandFailed(`the logo cannot be read: ${(error as Error).message}`);
  }
}
