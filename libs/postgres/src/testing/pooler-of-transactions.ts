import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

const notification = 'A'.charCodeAt(0);
const ready = 'Z'.charCodeAt(0);
const headerBytes = 5;

/**
 * A proxy that is to a listening client what a pooler of transactions is: the server's session is only there while a
 * statement of the client is under way, and what the session hears otherwise reaches nobody.
 */
export async function poolerOfTransactions(target: string) {
  const { hostname, port } = new URL(target);
  const state = { dropped: 0 };
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect({ host: hostname, port: Number(port) });
    let isUnderWay = true;
    let rest = Buffer.alloc(0);
    client.on('data', (data) => {
      isUnderWay = true;
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= headerBytes && rest.length >= 1 + rest.readUInt32BE(1)) {
        const message = rest.subarray(0, 1 + rest.readUInt32BE(1));
        rest = rest.subarray(message.length);
        if (message[0] === notification && !isUnderWay) state.dropped += 1;
        else client.write(message);
        if (message[0] === ready) isUnderWay = false;
      }
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => one.destroy());
      one.on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(target);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return Object.assign(state, {
    url: through.href,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
}
