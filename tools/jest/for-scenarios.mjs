/** Jest's global setup for tests that start the built apps. */
import { allProjects, prepare } from '../workspace.mjs';
import { startServers } from './start-servers.mjs';

export default async function setUp() {
  await prepare(allProjects());
  await startServers(['postgres', 'kafka', 'embeddedPostgres']);
}
