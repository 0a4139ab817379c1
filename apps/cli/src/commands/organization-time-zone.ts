/** `pis organization time-zone`: by which time zone months of fees and statements begin and end. */
import { organizationTimeZone, setOrganizationTimeZone } from '@pis/commands';
import { isTimeZone } from '@pis/domain';
import { type Command, InvalidArgumentError } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, idGiven, recordedCommand } from '../operator-action.js';
import { type OutputOptions, print, withJson } from '../output.js';
import { granted } from '../refusals.js';

interface SetOptions extends OutputOptions, ActionOptions {
  readonly id: string;
  readonly zone: string;
}

export function addTimeZone(organization: Command): void {
  const timeZone = organization
    .command('time-zone')
    .description('the time zone of months of fees and statements');
  recordedCommand(timeZone, 'set', 'set the time zone; months that were closed stay as they are')
    .requiredOption('--id <id>', 'organization ID')
    .requiredOption('--zone <name>', 'IANA name, for example America/Chicago', zoneGiven)
    .action(setTimeZone);
  withJson(
    timeZone
      .command('show')
      .description('the time zone in force')
      .requiredOption('--id <id>', 'organization ID'),
  ).action(async (options: OutputOptions & { id: string }) => {
    const id = idGiven('--id', options.id);
    print(granted(await withContext(({ store }) => organizationTimeZone(store, id))), options);
  });
}

async function setTimeZone(options: SetOptions): Promise<void> {
  const setting = { organizationId: idGiven('--id', options.id), timeZone: options.zone };
  const action = { name: 'organization time-zone set', subject: setting } as const;
  const set = await act(options, action, async (context) =>
    granted(await setOrganizationTimeZone(context, setting)),
  );
  print(set, options);
}

function zoneGiven(text: string): string {
  if (!isTimeZone(text)) throw new InvalidArgumentError('No time zone of the IANA database.');
  return text;
}
