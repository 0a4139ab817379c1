/** How long requests take, by the semantic conventions of OpenTelemetry. */
import type { FastifyInstance } from 'fastify';
import { Histogram, type Registry } from 'prom-client';
import { isProbe } from './tracing.js';

/** Those of the conventions, with 0.15 s instead of 0.75 s, and without 7.5 s. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10];

/** The status of a request whose client disconnected before the end of the answer. */
const clientGone = 499;

/**
 * Measures every request but probes, to the end of its answer or of its connection. The route is a pattern and
 * never a path: paths hold tokens, and their number has no limit.
 */
export function measureHttp(server: FastifyInstance, registry: Registry): void {
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: `Time from the head of a request to the end of its answer; status ${clientGone} when the client disconnected before`,
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code', 'url_scheme'],
    buckets,
    registers: [registry],
  });
  server.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply;
    // A proxy may pass on what the client wrote. Any other text would become a series of its own.
    const scheme = request.protocol === 'https' ? 'https' : 'http';
    if (!isProbe(request.raw))
      // Unlike onResponse, this also happens when the client disconnects.
      raw.once('close', () =>
        duration.observe(
          {
            http_request_method: request.method,
            http_route: request.routeOptions.url ?? '',
            http_response_status_code: String(raw.writableFinished ? raw.statusCode : clientGone),
            url_scheme: scheme,
          },
          reply.elapsedTime / 1_000,
        ),
      );
    done();
  });
}
