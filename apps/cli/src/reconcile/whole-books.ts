/** Books that lack a transfer, or have one that the log does not have, agree with nothing. */
import { aheadOfLog, heldStreamsOf, heldText } from '@pis/read-models';
import type { Context } from '../context.js';
import { CommandFailed } from '../output.js';

const needed = [
  ['movements', 'payment'],
  ['movements', 'collection'],
] as const;

/**
 * @param organizationId null: of all organizations
 * @throws CommandFailed while a transfer is held back in quarantine, or the tables are ahead of a restored log
 */
export async function assertBooksWhole(
  sources: Pick<Context, 'pool' | 'store'>,
  organizationId: string | null,
): Promise<void> {
  const ahead = await aheadOfLog(sources, ['movements']);
  if (ahead !== null)
    throw new CommandFailed(
      `our books have events that the log does not have: run pis projections rebuild ${ahead}`,
    );
  const held = await heldStreamsOf(sources, needed, organizationId);
  const [first] = held;
  if (first === undefined) return;
  const others = held.length > 1 ? `, and ${held.length - 1} more` : '';
  throw new CommandFailed(`our books are not whole: ${heldText(first, 'movements')}${others}`);
}
