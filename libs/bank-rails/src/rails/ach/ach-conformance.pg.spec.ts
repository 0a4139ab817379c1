import { bankConnectionConformance } from '../../testing/bank-connection.conformance.js';
import { openAchWorld } from '../../testing/ach-world.js';

bankConnectionConformance('over NACHA files', async () => {
  const world = await openAchWorld();
  return { connection: world.bank, settled: () => world.settle(), close: () => world.close() };
});
