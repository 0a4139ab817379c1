import {
  lagMax,
  projectionNames,
  type ProjectionName,
  projectionStatus,
  rebuildProjection,
  type RebuildProgress,
  type RebuildReport,
} from '@pis/read-models';
import { Argument, Command } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import { type OutputOptions, print, tellCutCounts, withJson } from '../output.js';

const progressEveryMs = 5_000;

/** Prints each new phase on stderr, and the progress every few seconds. */
function progressLine(): (progress: RebuildProgress) => void {
  let toldAtMs = -Infinity;
  let toldPhase: string | null = null;
  return ({ projection, phase, eventsRead, eventsPerSecond }) => {
    const isNew = phase !== toldPhase;
    if (!isNew && performance.now() - toldAtMs < progressEveryMs) return;
    toldAtMs = performance.now();
    toldPhase = phase;
    const rate = eventsRead === 0 ? '' : `, ${eventsPerSecond} events/s`;
    process.stderr.write(`pis: ${projection}: ${phase}: ${eventsRead} events${rate}\n`);
  };
}

export function projectionCommands(): Command {
  const command = new Command('projections').description('the read models');
  withJson(command.command('status').description('how far each projection is')).action(
    async (options: OutputOptions) => {
      const status = await withContext(({ pool, store }) => projectionStatus(pool, store));
      print(status, options);
      tellCutCounts(Object.fromEntries(status.map(({ name, lag }) => [name, lag])), lagMax);
    },
  );
  withOperator(
    withJson(
      command
        .command('rebuild')
        .description('rebuild from the event store while the system runs; default: all')
        .addArgument(new Argument('[name]', 'which').choices(projectionNames)),
    ),
  ).action(async (name: ProjectionName | undefined, options: OutputOptions & ActionOptions) => {
    const action = {
      name: 'projections rebuild',
      subject: { projection: name ?? 'all' },
      outcome: (reports: readonly RebuildReport[]) => ({ reports }),
    } as const;
    const reports = await act(options, action, async ({ pool, store }) => {
      const done = [];
      for (const projection of name === undefined ? projectionNames : [name])
        done.push(await rebuildProjection(projection, { pool, store, onProgress: progressLine() }));
      return done;
    });
    print(reports, options);
  });
  return command;
}
