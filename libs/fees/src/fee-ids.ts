/** IDs that follow from what they name, so that two collectors make the same streams. */
import { type FeePeriod, type Month, monthName } from '@pis/domain';
import { v5 as uuidV5 } from 'uuid';

export function feePeriodIdOf(originatorId: string, month: Month): string {
  return uuidV5(monthName(month), originatorId);
}

/** Of the collection that is under way, or of the next one. */
export function nextCollectionIdOf({ feePeriodId, collections }: FeePeriod): string {
  return uuidV5(`collection ${collections.length + 1}`, feePeriodId);
}
