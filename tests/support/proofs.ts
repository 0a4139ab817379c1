/** The proofs of payments, as an operator exports them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { PisClient } from '@pis/client';
import { pis, run } from './process.js';

export interface ProofSources {
  readonly client: PisClient;
  readonly environment: Readonly<Record<string, string>>;
  /** For the bundle. */
  readonly dir: string;
}

/** The leaves of a payment's events in the signed log, once the offline verifier has accepted them. @throws Error */
export async function provenLeaves(
  paymentId: string,
  { client, environment, dir }: ProofSources,
): Promise<readonly string[]> {
  const file = path.join(dir, `${paymentId}.json`);
  const exported = await pis(
    ['audit', 'export', '--payment', paymentId, '--out', file],
    environment,
  );
  if (exported.code !== 0) throw new Error(exported.stderr);
  const verifierKey = await client.audit.verifierKey();
  const verified = await run(['tools/verifier/verify.mjs', file, '--key', verifierKey], {});
  if (verified.code !== 0) throw new Error(verified.stderr);
  const { events } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly events: readonly { readonly leaf: string }[];
  };
  return events.map(({ leaf }) => leaf);
}
