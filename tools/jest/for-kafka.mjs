/** Jest's global setup for tests that need Kafka, and PostgreSQL beside it. */
import { startServers } from './start-servers.mjs';

export default () => startServers(['postgres', 'kafka']);
