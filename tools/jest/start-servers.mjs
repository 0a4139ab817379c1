/**
 * The servers of a Jest run and its folder, as environment variables for its tests. Each Jest project has a global
 * setup of its own (the files for-….mjs), because Jest runs the same file only once per run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testServers } from '../test-servers.mjs';

/** What stop-servers.mjs stops: Jest runs setup and teardown in one process. */
const own = { servers: null, folder: null };

/** @param kinds postgres, kafka, embeddedPostgres */
export async function startServers(kinds) {
  const servers = ownServers();
  const environments = await Promise.all(kinds.map((kind) => servers.environmentOf(kind)));
  // What tests make once for a run is in the folder, too.
  Object.assign(process.env, { PIS_TEST_RUN_FOLDER: own.folder }, ...environments);
}

function ownServers() {
  if (own.servers === null) {
    own.folder = mkdtempSync(join(tmpdir(), 'pis-test-servers-'));
    own.servers = testServers(own.folder);
  }
  return own.servers;
}

export async function stopOwnServers() {
  const { servers, folder } = own;
  Object.assign(own, { servers: null, folder: null });
  await servers?.stop();
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
}
