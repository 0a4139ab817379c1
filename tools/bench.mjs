/**
 * `npm run bench [-- PART …] [-- --json] [-- --short]`: measures the system and, for comparison, the machine without it,
 * completely or only in parts. The parts and their options are in bench/bench.mjs. Compare the ratios: absolute numbers
 * depend on the machine.
 */
import { continueOnSupportedNode, prepare } from './workspace.mjs';

await prepare();
await continueOnSupportedNode();
const { bench } = await import('./bench/bench.mjs');
process.exitCode = await bench(process.argv.slice(2));
