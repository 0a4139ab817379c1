import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { ReferenceController } from './reference.controller.js';
import { ensureAssets } from './testing/assets.js';
import { type Gateway, startGateway } from './testing/gateway.js';

const readers = 100;
/** The script itself, plain and gzipped, and the memory of a hundred connections. */
const growthBytesMax = 32 * 1024 * 1024;

let gateway: Gateway;
const sockets: Socket[] = [];

beforeAll(async () => {
  ensureAssets();
  gateway = await startGateway({
    databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
    projects: false,
  });
  await gateway.app.listen(0, '127.0.0.1');
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await gateway?.close();
});

/** Requests the script without compression, and reads only its beginning. */
async function slowReader(): Promise<string> {
  const { port } = gateway.app.getHttpServer().address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.write('GET /docs/scalar.js HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'readable');
  return String(socket.read(16));
}

it('many slow readers of the uncompressed script of the reference share its bytes', async () => {
  expect(await slowReader()).toMatch(/^HTTP\/1\.1 200 /);
  const before = process.memoryUsage().arrayBuffers;
  const heads = await Promise.all(Array.from({ length: readers }, slowReader));
  expect(new Set(heads)).toEqual(new Set(['HTTP/1.1 200 OK\r']));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(growthBytesMax);
});

it('all readers of /openapi.json share its bytes', () => {
  const reference = gateway.app.get(ReferenceController);
  const reply = { type: () => reply } as unknown as FastifyReply;
  const document = reference.openApi(reply);
  expect(document).toBeInstanceOf(Uint8Array);
  expect(reference.openApi(reply)).toBe(document);
});
