/** The evidence of a payment, to take along. */
import { op } from '../operation.js';

export const evidenceOperations = {
  /** One HTML file: events, files and messages at the bank, deliveries. Each download is recorded. */
  downloadEvidence: op<never>()({
    method: 'GET',
    path: '/payments/:paymentId/evidence',
    role: 'operator',
    isStream: true,
    isRecorded: true,
  }),
} as const;
