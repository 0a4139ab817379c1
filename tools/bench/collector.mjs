/** A collector of OpenTelemetry that reads everything and keeps nothing. */
import { once } from 'node:events';
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
}).listen(0, '127.0.0.1');
await once(server, 'listening');
process.send({ url: `http://127.0.0.1:${server.address().port}` });
process.once('disconnect', () => process.exit(0));
