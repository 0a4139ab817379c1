/** A stand-in with TLS and two users: an administrator, and the user of the service without groups. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeCertificate } from '@pis/local-servers/testing';
import { startEventStoreDbStandIn } from './eventstoredb-stand-in.js';

/** Needs escaping in a URL. */
export const password = 's3cret @:/?&%';
/** What must not appear in a message. */
export const secrets = /wr0ng|s3cret/;

export interface ServerWithUsers {
  /** @param ca `ca.pem`, or `other-ca.pem`, which did not sign the server's certificate */
  url(user: 'admin' | 'pis', password: string, ca?: 'ca.pem' | 'other-ca.pem'): string;
  stop(): Promise<void>;
}

/** The names of its files have spaces. */
export async function startServerWithUsers(): Promise<ServerWithUsers> {
  const folder = mkdtempSync(path.join(tmpdir(), 'pis esdb-'));
  const [ours, others] = await Promise.all([
    makeCertificate(['127.0.0.1']),
    makeCertificate(['x']),
  ]);
  writeFileSync(path.join(folder, 'ca.pem'), ours.caPem);
  writeFileSync(path.join(folder, 'other-ca.pem'), others.caPem);
  const server = await startEventStoreDbStandIn({
    tls: ours,
    users: {
      admin: { password, groups: ['$admins'] },
      pis: { password, groups: [] },
    },
  });
  return {
    url: (user, secret, ca = 'ca.pem') =>
      `esdb://${user}:${encodeURIComponent(secret)}@127.0.0.1:${server.port}` +
      `?tlsCAFile=${encodeURIComponent(path.join(folder, ca))}`,
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
