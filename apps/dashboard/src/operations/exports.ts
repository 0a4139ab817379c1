/** Downloads. */
import { paymentListSchema } from '@pis/contracts';
import { op } from '../operation.js';

export const exportOperations = {
  /** A CSV file (RFC 4180) with the API's field names and amounts in cents. `cursor` and `limit` are ignored. */
  exportPayments: op<never>()({
    method: 'GET',
    path: '/payments/export',
    role: 'viewer',
    query: paymentListSchema,
    isStream: true,
    isRecorded: true,
  }),
} as const;
