/**
 * `npm run bench [-- payments|webhooks|rate-limits|lists|event-store …] [-- --json] [-- --short]`: what
 * this machine does with the system, beside what it does without it, all in one run; or a part of it
 * alone. `event-store` runs only when it is named. Ratios first: absolute numbers belong to the machine.
 */
import { continueOnSupportedNode, prepare } from './workspace.mjs';

await prepare();
await continueOnSupportedNode();
const { bench } = await import('./bench/bench.mjs');
process.exitCode = await bench(process.argv.slice(2));
