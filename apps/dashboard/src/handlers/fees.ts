/** What payments cost. */
import {
  grantedOrThrow,
  organizationFees,
  replaceOrganizationFees,
  unrefused,
} from '@pis/commands';
import type { FeeScheduleView } from '@pis/contracts';
import { unreachable } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { ApiError, invalid, notFound } from '@pis/http-api';
import type { ChangeLimit } from '../change-limit.js';
import type { feeOperations } from '../operations/fees.js';
import type { Handlers } from '../routes.js';

export interface FeeServices {
  readonly store: EventStore;
  readonly changes: ChangeLimit;
}

export function feeHandlers({ store, changes }: FeeServices): Handlers<keyof typeof feeOperations> {
  return {
    getFees: async ({ organizationId }) => unrefused(await organizationFees(store, organizationId)),

    async setFees({ organizationId, body: { schedules, shown }, by }) {
      changes.take(organizationId);
      // Compared and not stored: schedules of another form are not those that there are.
      const seen = { schedules: shown as readonly FeeScheduleView[] };
      const set = replaceOrganizationFees({ store, by }, organizationId, { schedules }, seen);
      return granted(await set);
    },
  };
}

type Refused = Extract<Awaited<ReturnType<typeof replaceOrganizationFees>>, { refused: string }>;

const granted = grantedOrThrow<Refused>((refusal) => {
  switch (refusal.refused) {
    case 'INVALID_REQUEST':
      return invalid(refusal.problems);
    case 'ORGANIZATION_NOT_FOUND':
      return notFound('organization');
    case 'FEES_CHANGED':
      return new ApiError('CONFLICT', 'somebody else has changed the fees meanwhile');
    default:
      return unreachable(refusal);
  }
});
