/**
 * An HTTPS server for tests that receive webhooks: real TLS with a certificate of its own authority
 * for localhost and 127.0.0.1, every request recorded with its exact bytes, answers as scripted.
 */
import { webcrypto } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.js';

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 24 * 3_600_000;

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes, as text. */
  readonly body: string;
  readonly receivedAt: Date;
}

export interface ReceiverAnswer {
  /** Default 200. */
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Waits this long before it answers. */
  delayMs?: number;
  /** Waits for it before it answers. */
  after?: Promise<unknown>;
  /** Answers 302 to this address. */
  redirect?: string;
  /** Never answers; the connection stays open. */
  hang?: boolean;
  /** Cuts the connection instead of answering. */
  cut?: boolean;
}

export interface HttpsReceiver {
  /** `https://localhost:PORT` */
  readonly url: string;
  readonly port: number;
  /** Of the authority that signed the certificate. */
  readonly caPem: string;
  readonly caFile: string;
  /** In order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  /** The first matching request. Waits for it. */
  waitFor(
    predicate: (request: ReceivedRequest) => boolean,
    options?: { timeoutMs?: number },
  ): Promise<ReceivedRequest>;
  /** From now on; `index` counts all requests from 0. */
  respondWith(fn: (request: ReceivedRequest, index: number) => ReceiverAnswer): void;
  /** Cuts all connections. */
  close(): Promise<void>;
}

export interface HttpsReceiverOptions {
  /** Names and addresses that the certificate is for. */
  hosts?: readonly string[];
  respondWith?: (request: ReceivedRequest, index: number) => ReceiverAnswer;
}

export async function startHttpsReceiver(
  options: HttpsReceiverOptions = {},
): Promise<HttpsReceiver> {
  const { key, cert, caPem } = await makeCertificate(options.hosts ?? ['localhost', '127.0.0.1']);
  const folder = mkdtempSync(join(tmpdir(), 'pis-receiver-'));
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, caPem);

  const requests: ReceivedRequest[] = [];
  let respond = options.respondWith ?? (() => ({}));
  const server = createServer({ key, cert }, (incoming, response) => {
    receive(incoming).then(
      (request) => {
        const index = requests.push(request) - 1;
        answer(response, respond(request, index));
      },
      // The sender disconnected before its request was complete: there is no one to answer.
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    url: `https://localhost:${port}`,
    port,
    caPem,
    caFile,
    requests,
    waitFor: (predicate, { timeoutMs = 20_000 } = {}) =>
      until(() => requests.find(predicate), { timeoutMs, what: 'a matching request' }),
    respondWith: (fn) => void (respond = fn),
    async close() {
      rmSync(folder, { recursive: true, force: true });
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function receive(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString('utf8'),
    receivedAt: new Date(),
  };
}

function answer(response: ServerResponse, scripted: ReceiverAnswer): void {
  if (scripted.hang === true) return;
  if (scripted.cut === true) {
    response.destroy();
    return;
  }
  const redirect = scripted.redirect === undefined ? {} : { location: scripted.redirect };
  const status = scripted.status ?? (scripted.redirect === undefined ? 200 : 302);
  const send = (): void => {
    response.writeHead(status, { ...scripted.headers, ...redirect });
    response.end(scripted.body ?? '');
  };
  if (scripted.after !== undefined) void scripted.after.then(send);
  else if (scripted.delayMs === undefined) send();
  else setTimeout(send, scripted.delayMs).unref();
}

export interface Authority {
  readonly caPem: string;
  /** A key, and a certificate for these names and addresses; the first is the common name. */
  issue(
    hosts: readonly string[],
    usage?: 'serverAuth' | 'clientAuth',
  ): Promise<{ key: string; cert: string }>;
}

/**
 * A key, a certificate for these names and addresses, and the authority that signed it.
 * @param usage of the certificate: for a server, or for a client that identifies itself with it
 */
export async function makeCertificate(
  hosts: readonly string[],
  usage: 'serverAuth' | 'clientAuth' = 'serverAuth',
): Promise<{ key: string; cert: string; caPem: string }> {
  const authority = await makeAuthority();
  return { ...(await authority.issue(hosts, usage)), caPem: authority.caPem };
}

export async function makeAuthority(): Promise<Authority> {
  const x509 = await loadX509();
  const caKeys = await generateKeys();
  const validity = {
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + 30 * dayMs),
  };
  const authority = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: '01',
      name: 'CN=Test authority of the Payment Initiation Service',
      keys: caKeys,
      signingAlgorithm: keyAlgorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      ],
      ...validity,
    },
    webcrypto,
  );
  let issued = 1;
  return {
    caPem: authority.toString('pem'),
    async issue(hosts, usage = 'serverAuth') {
      issued += 1;
      const serialNumber = String(issued).padStart(2, '0');
      const keys = await generateKeys();
      const certificate = await x509.X509CertificateGenerator.create(
        {
          serialNumber,
          subject: `CN=${hosts[0] ?? 'localhost'}`,
          issuer: authority.subject,
          publicKey: keys.publicKey,
          signingKey: caKeys.privateKey,
          signingAlgorithm: keyAlgorithm,
          extensions: [
            new x509.SubjectAlternativeNameExtension(
              hosts.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value })),
            ),
            new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[usage]]),
          ],
          ...validity,
        },
        webcrypto,
      );
      const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
      return {
        key: `-----BEGIN PRIVATE KEY-----\n${pkcs8.toString('base64')}\n-----END PRIVATE KEY-----\n`,
        cert: certificate.toString('pem'),
      };
    },
  };
}

/**
 * Loaded only by a test that needs a certificate. Jest loads modules again for every test file, and most files
 * that import the test helpers need no certificate.
 */
async function loadX509() {
  // @peculiar/x509 asks its user for this polyfill. It must come first.
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}
