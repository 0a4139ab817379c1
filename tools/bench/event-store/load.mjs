/**
 * One process that uses the client of an event store by itself: appends, reads of one stream, or one
 * reading of the log, one after the other. Its parent controls it over IPC.
 */
import { quantile } from '../statistics.mjs';
import { openClient } from './clients.mjs';

/** Of the stream that is read: what a payment has when it is complete. */
const streamEvents = 3;

process.once('message', (task) => {
  load(task).then(
    // The native client keeps threads of its own.
    (result) => process.send(result, () => process.exit(0)),
    (error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    },
  );
});

async function load({ client, url, works: asked }) {
  const results = [];
  for (const { work, ...task } of asked) {
    const opened = await openClient(client, url, task.callers ?? 1);
    try {
      results.push(await works[work](opened, task));
    } finally {
      await opened.close();
    }
  }
  return results;
}

const works = {
  /** `position` is the one of an event near the end of the log. */
  async appends(client, task) {
    let position = null;
    const measured = await closedLoop(task, async () => {
      position = await client.append();
    });
    return { ...measured, position };
  },
  async reads(client, task) {
    const streamId = await client.appendStream(streamEvents);
    return closedLoop(task, async () => {
      const found = await client.readStream(streamId);
      if (found !== streamEvents) throw new Error(`${found} events read, not ${streamEvents}`);
    });
  },
  async log(client, { from }) {
    // Connects, so that the time for it does not count.
    await client.append();
    const startedAt = performance.now();
    const events = await client.readLog(from);
    return { events, perSecond: events / ((performance.now() - startedAt) / 1000) };
  },
};

/** So many callers, one call in flight each. */
async function closedLoop({ callers, seconds, warmupSeconds }, call) {
  const startedAt = performance.now() + warmupSeconds * 1000;
  const endsAt = startedAt + seconds * 1000;
  const latencies = [];
  const one = async () => {
    for (let now = performance.now(); now < endsAt; ) {
      await call();
      const after = performance.now();
      if (now >= startedAt && after <= endsAt) latencies.push(after - now);
      now = after;
    }
  };
  await Promise.all(Array.from({ length: callers }, one));
  latencies.sort((a, b) => a - b);
  return { perSecond: latencies.length / seconds, p50Ms: quantile(latencies, 0.5) };
}
