/** A database behind a relay that can be cut: for specs of lost connections. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { openTestPool } from '@pis/local-servers/testing';
import type pg from 'pg';

export interface CuttableDatabase {
  readonly pool: pg.Pool;
  /** How many connections were refused. */
  refused(): number;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function cuttableDatabase(databaseUrl: string): Promise<CuttableDatabase> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let refused = 0;
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      refused += 1;
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    near.pipe(far).pipe(near);
    for (const end of [near, far]) {
      sockets.add(end);
      end.on('error', () => end.destroy());
      end.on('close', () => {
        near.destroy();
        far.destroy();
        sockets.delete(end);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  const pool = openTestPool(url.href, 5);
  return {
    pool,
    refused: () => refused,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    restore: () => void (isCut = false),
    async close() {
      await pool.end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
