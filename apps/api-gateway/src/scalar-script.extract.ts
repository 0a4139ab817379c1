/** Run as a process by scalar-script.ts: writes the script that Scalar's Fastify plugin serves, gzipped. */
import { constants, gzipSync } from 'node:zlib';
import scalar from '@scalar/fastify-api-reference';
import { fastify } from 'fastify';

const server = fastify();
await server.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
const { statusCode, rawPayload } = await server.inject('/docs/js/scalar.js');
if (statusCode !== 200) throw new Error(`Scalar's plugin answered ${statusCode}`);
process.stdout.write(gzipSync(rawPayload, { level: constants.Z_BEST_COMPRESSION }));
