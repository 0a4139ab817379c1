import {
  type KeyName,
  keysStatus,
  rotateKeys,
  type RotationProgress,
  type RotationReport,
} from '@pis/keyring';
import { masterKeysFrom, shutOutOlderReleases } from '@pis/service-kit/stores';
import { Command } from 'commander';
import { withContext } from '../context.js';
import { act, recordedCommand, type RecordedOptions } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';
import { addSealHistory } from './seal-history.js';

const progressEveryMs = 2_000;

/** Prints each new phase on stderr, and the progress every few seconds. */
function progressLine(): (progress: RotationProgress) => void {
  let toldAtMs = -Infinity;
  let toldPhase: string | null = null;
  return ({ phase, done }) => {
    if (phase === toldPhase && performance.now() - toldAtMs < progressEveryMs) return;
    toldAtMs = performance.now();
    toldPhase = phase;
    process.stderr.write(`pis: ${phase}: ${done}${phase === 'old events' ? ' read' : ''}\n`);
  };
}

function nameOf({ owner, version }: KeyName): string {
  return `${owner}, ${version}`;
}

export function keysCommands(): Command {
  const command = new Command('keys').description('master keys, and what depends on them');
  withJson(command.command('status').description('what depends on each master key')).action(
    async (options: OutputOptions) => {
      // Unchecked: it also tells what a key is needed for that this process does not have.
      const status = await withContext(
        ({ config, pool, store }) =>
          keysStatus({ pool, store, masterKeys: masterKeysFrom(config) }),
        { checkStores: false },
      );
      print(options.json ? status : status.keys, options);
    },
  );
  recordedCommand(
    command,
    'rotate',
    'wrap all keys under the active master key, while the system runs',
  ).action(async (options: RecordedOptions) => {
    const action = {
      name: 'keys rotate',
      subject: {},
      outcome: (report: RotationReport) => ({
        ...report,
        unreadableKeys: report.unreadableKeys.length,
      }),
    } as const;
    const report = await act(options, action, async ({ keyring, pool, store, by }) => {
      const { masterKeys } = await keyring();
      return rotateKeys({
        pool,
        store,
        masterKeys,
        shutOutOlderReleases: () => shutOutOlderReleases(store, by),
        onProgress: progressLine(),
      });
    });
    print(report, options);
    const altered = [
      ...(report.unreadable > 0 ? [`${report.unreadable} sealed texts in old events`] : []),
      ...(report.unreadableKeys.length > 0
        ? [`data keys (owner, version): ${report.unreadableKeys.map(nameOf).join('; ')}`]
        : []),
    ];
    if (altered.length > 0)
      throw new CommandFailed(`altered, no master key opens them: ${altered.join('; and ')}`);
  });
  addSealHistory(command);
  return command;
}
