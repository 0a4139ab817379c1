import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** A proxy that can silently drop all data, like a network partition. */
export async function silenceable(target: string) {
  const { hostname, port } = new URL(target);
  const state = { silent: false };
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect({ host: hostname, port: Number(port) });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => void (state.silent || to.write(data)));
      from.on('close', () => to.destroy());
      from.on('error', () => to.destroy());
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
