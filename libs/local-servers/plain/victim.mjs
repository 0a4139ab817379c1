/** Starts a server, says so in one line, and waits to be killed (src/testing/victim.ts). */
import * as servers from '../dist/index.js';

const [, , starter, options] = process.argv;
// When the test itself is killed, its victim ends too.
process.stdin.on('end', () => process.exit(1)).resume();
const server = await servers[starter](JSON.parse(options));
console.log(JSON.stringify({ pid: server.pid, url: server.url }));
