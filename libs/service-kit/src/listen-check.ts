/**
 * Checks that the ports of an app can be listened on, before anything of it starts: the operator sees the reason, and
 * not what its loops log when they are stopped at once.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { ConfigurationError } from './config.js';

export interface Address {
  /** The variable that has the port. */
  readonly variable: string;
  readonly host: string;
  readonly port: number;
}

/** What is wrong and what to do about it, by the code of the error. Other errors speak for themselves. */
const problems: Readonly<Record<string, (address: Address) => string>> = {
  EADDRINUSE: ({ variable, port }) =>
    `${variable}: port ${port} is in use (EADDRINUSE): stop the program that listens there, or set ${variable} to another port`,
  EACCES: ({ variable, port }) =>
    `${variable}: this user may not listen on port ${port} (EACCES): set ${variable} to a port above 1023`,
  EADDRNOTAVAIL: ({ host }) => `HOST: ${host} is not an address of this machine (EADDRNOTAVAIL)`,
  ENOTFOUND: ({ host }) => `HOST: there is no host ${host} (ENOTFOUND)`,
};

/** @throws ConfigurationError that names the variable and says what to do */
export async function assertCanListen(addresses: readonly Address[]): Promise<void> {
  // Nobody who connects in this moment holds up the end of the check.
  const servers = addresses.map(() => createServer((socket) => socket.destroy()));
  try {
    // One after the other, and all open at the same time: two variables may have the same port.
    for (const [index, address] of addresses.entries()) {
      const server = servers[index]?.listen(address.port, address.host);
      if (server !== undefined)
        await once(server, 'listening').catch((error: unknown) => {
          throw refusalOf(error, address);
        });
    }
  } finally {
    await Promise.all(
      servers
        .filter(({ listening }) => listening)
        .map((server) => new Promise((closed) => server.close(closed))),
    );
  }
}

/** As a ConfigurationError, if the error is about the address. */
function refusalOf(error: unknown, address: Address): unknown {
  const { code } = Object(error) as { readonly code?: unknown };
  const problem = typeof code === 'string' ? problems[code] : undefined;
  return problem === undefined ? error : new ConfigurationError([problem(address)]);
}
