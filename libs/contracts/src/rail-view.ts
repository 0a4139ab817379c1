/** How the choice of a rail is shown, and the settings that it follows. */
import { type PaymentRail, paymentRails, railPreferences, type RailSettings } from '@pis/domain';
import { z } from 'zod';

export interface RejectedRailView {
  readonly paymentRail: PaymentRail;
  readonly achService: string | null;
  readonly code: string;
  readonly reason: string;
}

export interface RailEvaluationView {
  readonly paymentRail: PaymentRail | null;
  readonly achService: string | null;
  readonly expectedSettlementAt: string | null;
  readonly nextCutoffAt: string | null;
  readonly rejectedRails: readonly RejectedRailView[];
}

/** As operators write and see them. Limits are minor units. */
export interface RailSettingsView {
  readonly allowedRails: readonly PaymentRail[];
  readonly preference: RailSettings['preference'];
  readonly limits: RailSettings['limitsMinor'];
}

const rail = z.enum(paymentRails);
const limitMinor = z.number().refine(Number.isSafeInteger, 'validation_integer').min(0);

/** What is not given is as before any setting. A misspelled name is refused: it would allow too much. */
export const railSettingsSchema = z.strictObject(
  {
    allowedRails: z
      .array(rail)
      .min(1)
      .default([...paymentRails]),
    preference: z.enum(railPreferences).default('fastest'),
    limits: z.partialRecord(rail, limitMinor).default({}),
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? 'has other fields than allowedRails, preference and limits'
        : undefined,
  },
);

export function railSettingsView(settings: RailSettings): RailSettingsView {
  const { allowedRails, preference, limitsMinor } = settings;
  return { allowedRails, preference, limits: limitsMinor };
}
