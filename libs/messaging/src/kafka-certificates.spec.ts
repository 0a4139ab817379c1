/** Certificates that are renewed while a client runs, as cert-manager does it long before they expire. */
import { X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { makeCertificate } from '@pis/local-servers/testing';
import { kafkaClient, kafkaClientNames } from './kafka-client.js';

it.each(kafkaClientNames)(
  '%s shows a renewed certificate at its next connection',
  async (client) => {
    const broker = await makeCertificate(['localhost']);
    const shown = new Set<string>();
    const { key, cert, caPem: ca } = broker;
    const server = createServer({ key, cert, requestCert: true, rejectUnauthorized: false });
    server.on('secureConnection', (socket) => {
      shown.add(socket.getPeerX509Certificate()?.fingerprint256 ?? 'none');
      socket.destroy();
    });
    server.on('tlsClientError', () => undefined); // The client gives up: there is no Kafka here.
    await new Promise<void>((resolve) => server.listen(0, () => resolve()));
    const { port } = server.address() as AddressInfo;
    const issued = () => makeCertificate(['pis'], 'clientAuth');
    const fingerprint = (one: { cert: string }) => new X509Certificate(one.cert).fingerprint256;
    const first = await issued();
    let own = first;
    const ssl = {
      ca,
      get cert() {
        return own.cert;
      },
      get key() {
        return own.key;
      },
    };
    const brokers = [`localhost:${port}`];
    const opened = await kafkaClient({ brokers, clientId: 'certificates-spec', client, ssl });
    const admin = opened.admin();
    await expect(admin.ping()).rejects.toThrow();
    expect([...shown]).toEqual([fingerprint(first)]);
    own = await issued();
    await expect(admin.ping()).rejects.toThrow();
    expect([...shown]).toEqual([fingerprint(first), fingerprint(own)]);
    await admin.close();
    await new Promise((resolve) => server.close(resolve));
  },
);
