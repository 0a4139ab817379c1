/** Requests by organization, for operators who look for the one that has trouble, or makes it. */
import { organizationCounter } from '@pis/service-kit';
import type { FastifyInstance } from 'fastify';

type Registry = Parameters<typeof organizationCounter>[0];

export function countByOrganization(server: FastifyInstance, registry: Registry): void {
  const count = organizationCounter(registry, {
    name: 'pis_organization_requests_total',
    help: 'Requests of the API by organization and result: ok, refused (4xx) or failed (5xx)',
    label: 'result',
    values: ['ok', 'refused', 'failed'],
  });
  server.addHook('onResponse', (request, reply, done) => {
    const { caller } = request;
    if (caller !== null) count(caller.organizationId, resultOf(reply.statusCode));
    done();
  });
}

function resultOf(status: number): 'ok' | 'refused' | 'failed' {
  if (status >= 500) return 'failed';
  return status >= 400 ? 'refused' : 'ok';
}
