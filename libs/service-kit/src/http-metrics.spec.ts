import { EventEmitter } from 'node:events';
import { request } from 'node:http';
import { until } from '@pis/local-servers/testing';
import { fastify } from 'fastify';
import { Registry } from 'prom-client';
import { measureHttp } from './http-metrics.js';

const timeoutMs = 20_000;

describe('the duration of requests', () => {
  const registry = new Registry();
  const server = fastify({ trustProxy: true });
  const begun = new EventEmitter();
  let url: string;
  beforeAll(async () => {
    measureHttp(server, registry);
    server.get('/pay/:token', () => ({}));
    server.get('/health/live', () => ({}));
    server.get('/never', () => {
      begun.emit('begun');
      return new Promise<never>(() => undefined);
    });
    url = await server.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(() => server.close());

  const countOf = async (labels: string) => {
    const text = await registry.metrics();
    const line = text
      .split('\n')
      .find(
        (one) =>
          one.startsWith('http_server_request_duration_seconds_count') && one.includes(labels),
      );
    return line === undefined ? 0 : Number(line.split(' ').at(-1));
  };
  const labels = (route: string, status: number) =>
    `http_request_method="GET",http_route="${route}",http_response_status_code="${status}",url_scheme="http"`;

  it('is counted by route, never by path', async () => {
    await fetch(`${url}/pay/secret-one`);
    await fetch(`${url}/pay/secret-two`);
    await fetch(`${url}/unknown/secret-three`);
    await until(async () => (await countOf(labels('/pay/:token', 200))) === 2, { timeoutMs });
    await until(async () => (await countOf(labels('', 404))) === 1, { timeoutMs });
    expect(await registry.metrics()).not.toContain('secret');
  });

  it('is counted under no scheme that the client made up', async () => {
    for (const scheme of ['https', 'made-up'])
      await fetch(`${url}/pay/x`, { headers: { 'x-forwarded-proto': scheme } });
    await until(async () => (await countOf('url_scheme="https"')) === 1, { timeoutMs });
    await until(async () => (await countOf(labels('/pay/:token', 200))) === 3, { timeoutMs });
    expect(await registry.metrics()).not.toContain('made-up');
  });

  it('is counted when the client gives up before the answer', async () => {
    const lost = request(`${url}/never`).on('error', () => undefined);
    begun.once('begun', () => lost.destroy());
    lost.end();
    await until(async () => (await countOf(labels('/never', 499))) === 1, { timeoutMs });
  });

  it('does not count probes', async () => {
    await fetch(`${url}/health/live`);
    expect(await registry.metrics()).not.toContain('/health/live');
  });
});
