/** Jest's global teardown: stops what start-servers.mjs started in this process. */
import { stopOwnServers } from './start-servers.mjs';

export default stopOwnServers;
