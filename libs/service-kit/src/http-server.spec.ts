import 'reflect-metadata';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { until } from '@pis/local-servers/testing';
import { drainOf, httpAdapter, stragglersLimitMs } from './http-server.js';

const timeoutMs = 20_000;

@Module({})
class Nothing {}

const request = 'GET /here HTTP/1.1\r\nHost: x\r\n\r\n';

it('leaves time for requests under way after the drain, and fits into 10 s by default', () => {
  const defaultContainerDrainMs = 5_000;
  expect([0, 500, defaultContainerDrainMs, 60_000].map(stragglersLimitMs)).toEqual([
    6_000, 6_000, 7_000, 62_000,
  ]);
});

describe('the end of a server', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    jest.useRealTimers();
    sockets.splice(0).forEach((socket) => socket.destroy());
  });

  async function start() {
    const app = await NestFactory.create<NestFastifyApplication>(Nothing, httpAdapter(), {
      logger: false,
    });
    const drain = drainOf(app);
    const fastify = app.getHttpAdapter().getInstance();
    fastify.get('/here', () => 'served');
    await app.listen(0, '127.0.0.1');
    /** A client that is connected and has sent nothing. */
    const connected = async () => {
      const accepted = once(fastify.server, 'connection');
      const socket = connect((fastify.server.address() as AddressInfo).port, '127.0.0.1');
      sockets.push(socket);
      let received = '';
      socket.on('data', (data) => (received += String(data)));
      socket.on('error', () => undefined);
      const closed = once(socket, 'close');
      await accepted;
      return { socket, received: () => received, closed };
    };
    return { app, drain, connected };
  }

  it('answers the first request of an open connection after listening ends', async () => {
    const { app, drain, connected } = await start();
    const { socket, received, closed } = await connected();
    await drain.begin(0);
    socket.write(request);
    await app.close();
    drain.end();
    await closed;
    expect(received()).toMatch(/^HTTP\/1\.1 (200|503) /);
    expect(received()).toMatch(/\r\nconnection: close\r\n/i);
  });

  it('serves new connections during the drain even if none is open', async () => {
    const { app, drain, connected } = await start();
    const promisedMs = 300;
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] });
    let isServing = true;
    const served = drain.begin(promisedMs).then(() => (isServing = false));
    const { socket, received, closed } = await connected();
    socket.write(request);
    await until(() => received().includes('served'), { timeoutMs });
    expect(received()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
    await closed;
    jest.advanceTimersByTime(promisedMs - 1);
    // A drain that has ended needs a few turns to stop listening.
    for (let turns = 0; turns < 50; turns += 1) await turn();
    expect(isServing).toBe(true);
    jest.advanceTimersByTime(1);
    await served;
    jest.useRealTimers();
    await app.close();
    drain.end();
  });

  it('does not wait for connections without a request', async () => {
    const { app, drain, connected } = await start();
    const { received, closed } = await connected();
    await drain.begin(0);
    await app.close();
    drain.end();
    await closed;
    expect(received()).toBe('');
  });
});
