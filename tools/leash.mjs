/**
 * Preloaded into what start.mjs and test.mjs launch (and, as Node passes it on, into Jest's workers):
 * when the parent is gone, however it went, the channel to it closes and the process ends as by
 * SIGTERM. It does not depend on how far the program has got, nor on the program.
 */
const launcher = Number(new URL(import.meta.url).searchParams.get('launcher'));
const checkMs = 500;

const end = () => process.kill(process.pid, 'SIGTERM');

// The leash alone is no reason to stay alive.
if (process.channel && process.ppid === launcher) {
  process.on('disconnect', end);
  process.channel.unref();
} else if (process.channel) {
  // Jest's workers live for as long as Jest listens to the channel: a listener of ours would keep them
  // for longer, and unref() would end them at once.
  setInterval(() => process.connected || end(), checkMs).unref();
}
