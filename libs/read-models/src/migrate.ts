/** The migrations of the service, applied and waited for by libs/postgres. */
import { fileURLToPath } from 'node:url';
import * as postgres from '@pis/postgres';

/** Where the migrations are, both from `src/` and from `dist/`. */
const dir = fileURLToPath(new URL('../prisma/migrations', import.meta.url));

/** Applies what is missing and returns its names. @throws MigrationRefused */
export function migrate(
  options: Omit<Parameters<typeof postgres.migrate>[0], 'dir'>,
): Promise<readonly string[]> {
  return postgres.migrate({ ...options, dir });
}

/** Resolves once every migration of this build is applied. @throws MigrationRefused */
export function waitForCurrentSchema(
  options: Omit<Parameters<typeof postgres.waitForCurrentSchema>[0], 'dir'>,
): Promise<void> {
  return postgres.waitForCurrentSchema({ ...options, dir });
}
