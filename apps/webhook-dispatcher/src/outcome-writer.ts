/** Records the outcomes of deliveries, many in one statement, and does not give up while the database is unavailable. */
import { GroupCommit, isDataError, pause } from '@pis/postgres';
import type { DecidedDelivery, Delivery, DeliveryTable } from '@pis/webhook-deliveries';

/** Which delivery an error concerns. */
export interface DeliveryIds {
  readonly deliveryId: string;
  readonly endpointId: string;
}

export interface OutcomeWriterDeps {
  readonly table: Pick<DeliveryTable, 'record'>;
  readonly limits: { readonly batchMax: number } & ErrorPauses;
  /** @param about the delivery, if the error concerns one */
  readonly logError: (error: unknown, what: string, about?: DeliveryIds) => void;
}

export interface ErrorPauses {
  readonly errorPauseMinMs: number;
  readonly errorPauseMaxMs: number;
}

export class OutcomeWriter {
  private readonly records: GroupCommit<DecidedDelivery, undefined>;

  /** @param signal aborts when a shutdown waits no longer */
  constructor(
    private readonly deps: OutcomeWriterDeps,
    private readonly signal: AbortSignal,
  ) {
    const { table, limits } = deps;
    this.records = new GroupCommit({
      write: async (decided) => {
        await table.record(decided);
        return decided.map(() => undefined);
      },
      batchMax: limits.batchMax,
      isItemsFault: isDataError,
    });
  }

  /**
   * @returns whether it is recorded. At a shutdown, or when the row itself is faulty, it is not, and the delivery is retried
   *   when its lease ends
   */
  async record(decided: DecidedDelivery): Promise<boolean> {
    const { limits, logError } = this.deps;
    const about = idsOf(decided.delivery);
    for (let tries = 0; ; tries += 1)
      try {
        await this.records.add(decided);
        return true;
      } catch (error) {
        if (this.signal.aborted || isDataError(error)) {
          logError(error, 'a delivery waits for its lease to end', about);
          return false;
        }
        logError(error, 'an attempt could not be recorded yet', about);
        await pause(errorPauseMs(limits, tries), this.signal);
      }
  }
}

export function idsOf({ id: deliveryId, endpointId }: Delivery): DeliveryIds {
  return { deliveryId, endpointId };
}

/** The pause after so many failures before this one, milliseconds. */
export function errorPauseMs(
  { errorPauseMinMs, errorPauseMaxMs }: ErrorPauses,
  failures: number,
): number {
  return Math.min(errorPauseMaxMs, errorPauseMinMs * 2 ** failures);
}
