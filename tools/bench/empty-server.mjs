/** The HTTP layer's own limit: a Fastify POST that parses the same JSON and does nothing else. */
import Fastify from 'fastify';

const server = Fastify();
server.post('/', async () => ({ data: { paymentId: '00000000-0000-0000-0000-000000000000' } }));
await server.listen({ port: 0, host: '127.0.0.1' });
process.send({ url: `http://127.0.0.1:${server.server.address().port}` });
process.once('disconnect', () => process.exit(0));
