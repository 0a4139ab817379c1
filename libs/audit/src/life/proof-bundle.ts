/** The proofs of a payment as one file, which tools/verifier/verify.mjs checks offline. */
import type { StreamProof } from '../payment-proof.js';

/** The answer of `GET /v1/payments/:id/proof` with the ID of the payment. */
export interface ProofBundle {
  readonly paymentId: string;
  /** The note of the checkpoint. */
  readonly checkpoint: string;
  readonly treeSize: number;
  readonly events: readonly {
    readonly index: number;
    /** Base64. */
    readonly leaf: string;
    readonly proof: readonly string[];
  }[];
}

export function proofBundle(paymentId: string, { checkpoint, events }: StreamProof): ProofBundle {
  return {
    paymentId,
    checkpoint: checkpoint.note,
    treeSize: checkpoint.treeSize,
    events: events.map(({ index, leaf, proof }) => ({
      index,
      leaf: Buffer.from(leaf).toString('base64'),
      proof: proof.map((hash) => hash.toString('base64')),
    })),
  };
}

/** The verifier refuses any other way to write it. */
export function bundleText(bundle: ProofBundle): string {
  return `${JSON.stringify(bundle, null, 2)}\n`;
}
