/** What payments cost. */
import type { FeeScheduleView } from '@pis/contracts';
import { feeRulesMax } from '@pis/domain';
import { z } from 'zod';
import { op } from '../operation.js';

export type { FeeScheduleView } from '@pis/contracts';

export interface FeeSettings {
  /** All that were set: in force, to come, and replaced by later ones. Amounts are cents. */
  readonly schedules: readonly FeeScheduleView[];
}

/** Each schedule is checked by the use case, which names every problem. */
const schedules = z.array(z.unknown()).max(feeRulesMax);

export const feeOperations = {
  getFees: op<FeeSettings>()({ method: 'GET', path: '/settings/fees', role: 'viewer' }),
  /**
   * Replaces all schedules, unless somebody else did since they were `shown`. Payments that exist keep their fees.
   * In production only the operator sets fees (`pis fees set`): an administrator belongs to the organization that pays
   * them.
   */
  setFees: op<FeeSettings>()({
    method: 'POST',
    path: '/settings/fees',
    role: 'admin',
    sandboxOnly: true,
    body: z.object({ schedules, shown: schedules }),
  }),
} as const;
