/**
 * `npm run bench [-- payments|webhooks|tracing|rate-limits|lists|pages|rails|statements|exports|audit|storage|event-store …] [-- --json] [-- --short] [-- --events N]`:
 * measures the system and, for comparison, the machine without it, completely or only in parts. `event-store` runs only
 * when it is named. Compare the ratios: absolute numbers depend on the machine.
 */
import { continueOnSupportedNode, prepare } from './workspace.mjs';

await prepare();
await continueOnSupportedNode();
const { bench } = await import('./bench/bench.mjs');
process.exitCode = await bench(process.argv.slice(2));
