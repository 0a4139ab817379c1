/** Systems of several parts. */

/** What a part that was started leaves to be undone. Add each step before the next part starts. */
export type Undo = (() => unknown)[];

/** If one part cannot start, the others are stopped, the last one first. */
export async function startedWhole<Parts extends object>(
  startParts: (undo: Undo) => Promise<Parts>,
): Promise<Parts & { stop(): Promise<void> }> {
  const undo: Undo = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return { ...(await startParts(undo)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
