/** Renders one statement and answers with its figures. The bytes go nowhere. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { renderStatement } from '@pis/statements';
import { sampleLines, statementWith } from '@pis/statements/testing';

process.once('message', async ({ lines }) => {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedAt = performance.now();
  let bytes = 0;
  for await (const block of renderStatement(statementWith(sampleLines(lines))))
    bytes += block.length;
  const { user, system } = process.cpuUsage();
  process.send({
    ...{ lines, bytes, ms: performance.now() - startedAt, cpuMs: (user + system) / 1_000 },
    ...{ peakRssMb: process.resourceUsage().maxRSS / 1024, blockedMaxMs: delay.max / 1e6 },
  });
  process.disconnect();
});
