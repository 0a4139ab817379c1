/** Jest's global setup for tests that need PostgreSQL. */
import { startServers } from './start-servers.mjs';

export default () => startServers(['postgres']);
