/** The evidence of a payment, to take along. */
import { z } from 'zod';
import { op } from '../operation.js';

export const evidenceOperations = {
  /**
   * One file: events, files and messages at the bank, deliveries. A PDF has the proofs attached that the events are in
   * the signed log. Each download is recorded.
   */
  downloadEvidence: op<never>()({
    method: 'GET',
    path: '/payments/:paymentId/evidence',
    role: 'operator',
    query: z.object({ format: z.enum(['html', 'pdf']).default('html') }),
    isStream: true,
    isRecorded: true,
  }),
} as const;
