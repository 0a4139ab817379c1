import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** A server that can be away. */
export interface Interruptible {
  /** Of the server, through a proxy. */
  readonly url: string;
  /** Breaks the connections. New ones break at once until `comeBack`. */
  goAway(): void;
  comeBack(): void;
  close(): void;
}

/** @param target the URL of a server that listens on TCP */
export async function interruptible(target: string): Promise<Interruptible> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<net.Socket>();
  let isAway = false;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const proxy = net.createServer((client) => {
    if (isAway) return void client.destroy();
    const upstream = net.connect({ host: hostname, port: Number(port) });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.href,
    goAway() {
      isAway = true;
      cut();
    },
    comeBack: () => void (isAway = false),
    close() {
      cut();
      proxy.close();
    },
  };
}
