/** Which requests count as those of a session's user. An open page also reads its data again by itself, and says so. */
import type { FastifyRequest } from 'fastify';
import type { UnattendedHeader } from './api-types.js';

const unattendedHeader: UnattendedHeader = 'x-pis-unattended';

/** False for a read of a page whose user has done nothing for a while: it does not keep the session. */
export function isOfUser({ method, headers }: FastifyRequest): boolean {
  return method !== 'GET' || headers[unattendedHeader] !== '1';
}
