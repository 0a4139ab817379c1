/** An originator of the month that has ended: it has a statement of it. */
import { randomUUID } from 'node:crypto';
import { lastEndedMonth, type Month, monthOf, originator } from '@pis/domain';
import { repository, sealedStore, systemContext } from '@pis/event-store';
import { openTestPool } from '@pis/local-servers/testing';
import { withStore } from './everywhere.js';
import { keyringOf } from './living-keys.js';
import type { System } from './systems.js';

/** Of organizations that have no other. */
const zone = 'America/New_York';
const dayMs = 86_400_000;

/** Created in the middle of the month. The organization is of this month, so the monthly job leaves the month alone. */
export async function createPastOriginator(
  system: System,
): Promise<Month & { readonly originatorId: string }> {
  const originatorId = randomUUID();
  // Also in the first minutes of a month, in which the one before it has not settled.
  const last = lastEndedMonth(zone, new Date(Date.now() - dayMs));
  const { from, to } = monthOf(zone, last.year, last.month);
  const data = {
    ...{ originatorId, organizationId: system.organizationId, entityType: 'BUSINESS' as const },
    ...{ companyName: 'Acme Parts', firstName: null, lastName: null, phoneNumber: null },
    ...{ email: 'parts@acme.example', legalAddress: null, bankAccount: null },
  };
  const at = new Date((from.getTime() + to.getTime()) / 2).toISOString();
  const pool = openTestPool(system.databaseUrl, 2);
  try {
    await withStore(system.environment, system.databaseUrl, async (store) => {
      const sealed = sealedStore(store, keyringOf(system, pool));
      const command = { type: 'CreateOriginator', at, data } as const;
      await repository(sealed, originator).create(originatorId, command, systemContext('test'));
    });
  } finally {
    await pool.end();
  }
  return { ...last, originatorId };
}
