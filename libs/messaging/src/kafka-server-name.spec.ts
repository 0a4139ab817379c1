/** TLS server names (SNI): a load balancer chooses the broker by the name that the client asks for. */
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { makeCertificate } from '@pis/local-servers/testing';
import { kafkaClient, kafkaClientNames } from './kafka-client.js';

it.each(kafkaClientNames)('%s asks for the broker by its host name', async (client) => {
  const { key, cert, caPem } = await makeCertificate(['localhost']);
  const names: string[] = [];
  const server = createServer({
    ...{ key, cert },
    SNICallback(name, answer) {
      names.push(name);
      answer(null);
    },
  });
  server.on('secureConnection', (socket) => socket.destroy());
  server.on('tlsClientError', () => undefined); // The client gives up: there is no Kafka here.
  await new Promise<void>((resolve) => server.listen(0, () => resolve()));
  const { port } = server.address() as AddressInfo;
  const admin = (
    await kafkaClient({
      ...{ brokers: [`localhost:${port}`], clientId: 'name-spec', client },
      ssl: { ca: caPem },
    })
  ).admin();
  await expect(admin.ping()).rejects.toThrow();
  await admin.close();
  await new Promise((resolve) => server.close(resolve));
  expect(new Set(names)).toEqual(new Set(['localhost']));
});
