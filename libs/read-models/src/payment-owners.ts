/** Whose payments they are. */
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';

/** The organizations of those payments that are in the list. @throws StoreUnavailable */
export async function paymentOwners(
  pool: pg.Pool,
  paymentIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await orUnavailable(() =>
    pool.query<{ payment_id: string; organization_id: string }>({
      name: 'payments.owners',
      text: 'SELECT payment_id, organization_id FROM payments WHERE payment_id = ANY($1::uuid[])',
      values: [paymentIds],
    }),
  );
  return new Map(rows.map((row) => [row.payment_id, row.organization_id]));
}
