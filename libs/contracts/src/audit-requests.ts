/** Requests on the audit log, and how its checkpoints and proofs are shown. Hashes and leaves are base64. */
import { z } from 'zod';
import { cursor, wholeNumber } from './party-requests.js';

const limitDefault = 20;
const limitMax = 100;

export const checkpointListSchema = z.object({
  cursor,
  limit: wholeNumber(1, limitMax).default(limitDefault),
});
export type CheckpointListQuery = z.output<typeof checkpointListSchema>;

export const consistencySchema = z.object({
  from: wholeNumber(1, Number.MAX_SAFE_INTEGER),
  to: wholeNumber(1, Number.MAX_SAFE_INTEGER),
});
export type ConsistencyQuery = z.output<typeof consistencySchema>;

export interface AuditKeyView {
  readonly verifierKey: string;
}

export interface CheckpointView {
  readonly treeSize: number;
  readonly rootHash: string;
  readonly createdAt: string;
  readonly note: string;
}

export interface ConsistencyView {
  readonly proof: readonly string[];
}

export interface PaymentProofView {
  readonly checkpoint: string;
  readonly treeSize: number;
  readonly events: readonly {
    readonly index: number;
    readonly leaf: string;
    readonly proof: readonly string[];
  }[];
}
