import 'reflect-metadata';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { drainOf, httpAdapter } from './http-server.js';

@Module({})
class Nothing {}

const request = 'GET /here HTTP/1.1\r\nHost: x\r\n\r\n';

describe('the end of a server', () => {
  const sockets: Socket[] = [];
  afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));

  async function start() {
    const app = await NestFactory.create<NestFastifyApplication>(Nothing, httpAdapter(), {
      logger: false,
    });
    const drain = drainOf(app);
    const fastify = app.getHttpAdapter().getInstance();
    fastify.get('/here', () => 'served');
    await app.listen(0, '127.0.0.1');
    /** A client that is connected, and has said nothing. */
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

  it('answers a first request that comes when nobody else can connect any more', async () => {
    const { app, drain, connected } = await start();
    const { socket, received, closed } = await connected();
    await drain.begin();
    socket.write(request);
    await app.close();
    drain.end();
    await closed;
    expect(received()).toMatch(/^HTTP\/1\.1 (200|503) /);
    expect(received()).toMatch(/\r\nconnection: close\r\n/i);
  });

  it('does not wait for connections on which nothing ever comes', async () => {
    const { app, drain, connected } = await start();
    const { received, closed } = await connected();
    await drain.begin();
    await app.close();
    drain.end();
    await closed;
    expect(received()).toBe('');
  });
});
