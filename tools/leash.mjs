/**
 * Preloaded into what start.mjs and test.mjs launch (and, as Node passes it on, into Jest's workers):
 * when the parent is gone, however it went, the channel to it closes and the process ends as by
 * SIGTERM. It does not depend on how far the program has got, nor on the program.
 */
const launcher = Number(new URL(import.meta.url).searchParams.get('launcher'));

if (process.channel) {
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // The leash alone is no reason to stay alive. Jest's workers, which live for their channel, are not ours.
  if (process.ppid === launcher) process.channel.unref();
}
