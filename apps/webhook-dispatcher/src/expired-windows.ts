/** Ends the deliveries of a disabled endpoint whose window has ended. Nobody attempts them, so nobody else would. */
import type { DeliveryTable, PendingPlace } from '@pis/webhook-deliveries';

export interface ExpiredWindowsDeps {
  readonly table: Pick<DeliveryTable, 'failExpired'>;
  readonly now: () => Date;
  /** The shortest retry window. */
  readonly windowMinMs: number;
  /** `expiredBatchMax`: deliveries that one statement checks. */
  readonly limits: { readonly expiredBatchMax: number };
}

/** Statement by statement, until all are checked or the signal aborts. @throws what the table throws */
export async function endExpiredWindows(
  { table, now, windowMinMs, limits }: ExpiredWindowsDeps,
  endpointId: string,
  signal: AbortSignal,
): Promise<void> {
  const time = now();
  const range = { now: time, createdBefore: new Date(time.getTime() - windowMinMs) };
  let after: PendingPlace | null = null;
  do after = await table.failExpired(endpointId, { ...range, after, max: limits.expiredBatchMax });
  while (after !== null && !signal.aborted);
}
