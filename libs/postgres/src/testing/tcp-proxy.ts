import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** Both directions of a connection end together. `pass` says how data gets from the client to the server and back. */
export async function tcpProxy(
  target: string,
  pass: (client: net.Socket, upstream: net.Socket) => void,
) {
  const { hostname, port } = new URL(target);
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect({ host: hostname, port: Number(port) });
    pass(client, upstream);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(target);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
