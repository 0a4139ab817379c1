/** Run by the build: writes the script that Scalar's Fastify plugin serves to dist/scalar.js.gz. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { constants, gzipSync } from 'node:zlib';
import scalar from '@scalar/fastify-api-reference';
import { fastify } from 'fastify';

const server = fastify();
await server.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
const { statusCode, rawPayload } = await server.inject('/docs/js/scalar.js');
if (statusCode !== 200) throw new Error(`Scalar's plugin answered ${statusCode}`);

const folder = new URL('dist/', import.meta.url);
const draft = new URL(`scalar.js.gz.${process.pid}`, folder);
mkdirSync(folder, { recursive: true });
writeFileSync(draft, gzipSync(rawPayload, { level: constants.Z_BEST_COMPRESSION }));
renameSync(draft, new URL('scalar.js.gz', folder));
