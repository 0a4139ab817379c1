import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** A proxy in front of a server, which can be away. */
export interface TcpProxy {
  /** Of the server, through the proxy. */
  readonly url: string;
  /** How many connections were refused. */
  refused(): number;
  /** Ends all connections and refuses new ones until `comeBack`. */
  goAway(): void;
  comeBack(): void;
  close(): void;
}

/**
 * Both directions of a connection end together.
 * @param target the URL of a server that listens on TCP
 * @param pass how data gets from the client to the server and back
 */
export async function tcpProxy(
  target: string,
  pass: (client: net.Socket, upstream: net.Socket) => void = piped,
): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<net.Socket>();
  let isAway = false;
  let refused = 0;
  const server = net.createServer((client) => {
    if (isAway) {
      refused += 1;
      client.destroy();
      return;
    }
    const upstream = net.connect({ host: hostname, port: Number(port) });
    pass(client, upstream);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(target);
  through.hostname = '127.0.0.1';
  through.port = String((server.address() as AddressInfo).port);
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: through.href,
    refused: () => refused,
    goAway() {
      isAway = true;
      endAll();
    },
    comeBack: () => void (isAway = false),
    close() {
      endAll();
      server.close();
    },
  };
}

function piped(client: net.Socket, upstream: net.Socket): void {
  client.pipe(upstream).pipe(client);
}
