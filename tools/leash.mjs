/**
 * Preloaded into every process that start.mjs and test.mjs launch (and, by Node, into Jest's workers). When
 * the parent is gone for any reason, its IPC channel closes and the process ends as by SIGTERM. This works at
 * any time, with any program.
 */
const launcher = Number(new URL(import.meta.url).searchParams.get('launcher'));
const checkMs = 500;

const end = () => process.kill(process.pid, 'SIGTERM');

// The channel must not keep the process alive.
if (process.channel && process.ppid === launcher) {
  process.on('disconnect', end);
  process.channel.unref();
} else if (process.channel) {
  // Jest's workers live as long as Jest listens to the channel. A listener here would keep them alive for
  // longer, and unref() would end them at once.
  setInterval(() => process.connected || end(), checkMs).unref();
}
