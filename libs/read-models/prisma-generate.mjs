/**
 * Generates the Prisma client from prisma/schema.prisma without the schema engine, which would have
 * to be downloaded. `prisma generate` only wants to know that an engine file exists, so Node's own
 * path stands in for it, for this child process alone: should a `migrate` ever run under this
 * variable it fails, where /bin/true would exit 0 having applied nothing.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';

const prisma = path.dirname(createRequire(import.meta.url).resolve('prisma/package.json'));
const { status, error } = spawnSync(
  process.execPath,
  [path.join(prisma, 'build', 'index.js'), 'generate'],
  {
    cwd: import.meta.dirname,
    // Prisma reports on stdout; stdout of our commands is for machines.
    stdio: ['ignore', 2, 2],
    env: {
      ...process.env,
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      CHECKPOINT_DISABLE: '1',
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
    },
  },
);
if (error) throw error;
process.exit(status ?? 1);
