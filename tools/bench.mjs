/**
 * `npm run bench [-- payments|webhooks|rate-limits|lists …] [-- --json] [-- --short]`: what this machine
 * does with the system, beside what it does without it, all in one run; or a part of it alone. Ratios
 * first: absolute numbers belong to the machine.
 */
import { continueOnSupportedNode, prepare } from './workspace.mjs';

await prepare();
await continueOnSupportedNode();
const { bench } = await import('./bench/bench.mjs');
process.exitCode = await bench(process.argv.slice(2));
