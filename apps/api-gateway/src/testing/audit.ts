/** Signs the log of a gateway, as directory-projector does. */
import { AuditLog, noteSigner, wantCheckpoint } from '@pis/audit';
import { PG_POOL } from '@pis/service-kit';
import type pg from 'pg';
import type { Gateway } from './gateway.js';

const signer = noteSigner(Buffer.alloc(32, 7));

export async function signLog({ app, store }: Pick<Gateway, 'app' | 'store'>): Promise<void> {
  const pool = app.get<pg.Pool>(PG_POOL, { strict: false });
  const log = new AuditLog({ store, pool, signer });
  while (await log.round());
  await wantCheckpoint(pool, true);
  while (await log.round());
}
