/** A server of the simulated bank, listening. */
import type { AddressInfo } from 'node:net';

export interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly onProblem: (error: unknown) => void;
}

/** What servers of TCP, TLS and SSH have in common. */
interface Listener {
  listen(port: number, host: string, listening: () => void): unknown;
  once(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  address(): unknown;
  close(closed: () => void): unknown;
}

/** @param cut ends the connections that are open, so that closing does not wait for them */
export async function listening(
  server: Listener,
  { host, port, onProblem }: ListenOptions,
  cut: () => void,
): Promise<RunningServer> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  server.on('error', onProblem);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
