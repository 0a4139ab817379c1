import { createSocket, type Socket } from 'node:dgram';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { exceptLoopback, nameLookup } from './lookup.js';

const atEnd = closeAfterEach();

/** A name server that answers A queries as configured. Null: it never answers. */
async function nameServer(addressesOf: (name: string) => readonly string[] | null) {
  const asked: string[] = [];
  const socket: Socket = createSocket('udp4');
  socket.on('message', (question, from) => {
    const name = nameIn(question);
    const isA = question.readUInt16BE(question.length - 4 - optLength(question)) === 1;
    if (isA) asked.push(name);
    const found = addressesOf(name);
    if (found !== null) socket.send(answerTo(question, isA ? found : []), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    asked,
    server: `127.0.0.1:${socket.address().port}`,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}

function nameIn(question: Buffer): string {
  const labels: string[] = [];
  for (let at = 12, length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return labels.join('.');
}

/** The question may be followed by an EDNS record of 11 bytes or more, which is cut off. */
function optLength(question: Buffer): number {
  return question.length - questionEnd(question);
}

function questionEnd(question: Buffer): number {
  return 12 + nameIn(question).length + 2 + 4;
}

/** RFC 1035: the question again, and a record of class IN for each address; NXDOMAIN without any. */
function answerTo(question: Buffer, addresses: readonly string[]): Buffer {
  const head = Buffer.from(question.subarray(0, questionEnd(question)));
  head.writeUInt16BE(addresses.length === 0 ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt16BE(0, 10);
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, ...address.split('.').map(Number)]),
  );
  return Buffer.concat([head, ...records]);
}

const neverAsked = () => Promise.reject(new Error('the system was asked'));

describe('The host of a webhook is looked up', () => {
  it('at the name servers, with all its addresses', async () => {
    const dns = await nameServer(() => ['192.0.2.1', '192.0.2.2']);
    atEnd(() => dns.close());
    const lookup = nameLookup({ servers: [dns.server], bySystem: neverAsked });
    expect(await lookup('hooks.example')).toEqual(['192.0.2.1', '192.0.2.2']);
  });

  it('once for concurrent lookups', async () => {
    const dns = await nameServer(() => ['192.0.2.1']);
    atEnd(() => dns.close());
    const lookup = nameLookup({ servers: [dns.server], bySystem: neverAsked });
    await Promise.all([lookup('hooks.example'), lookup('hooks.example')]);
    expect(dns.asked).toEqual(['hooks.example']);
  });

  it('with a bounded number of addresses, although a hostile zone has hundreds', async () => {
    const many = Array.from({ length: 25 }, (_, i) => `192.0.2.${i}`);
    const dns = await nameServer(() => many);
    atEnd(() => dns.close());
    const lookup = nameLookup({ servers: [dns.server], bySystem: neverAsked });
    expect(await lookup('hooks.example')).toHaveLength(16);
  });

  it('by the system where the name servers do not know it: names of the hosts file', async () => {
    const dns = await nameServer(() => []);
    atEnd(() => dns.close());
    const bySystem = () => Promise.resolve(['10.0.0.7']);
    const lookup = nameLookup({ servers: [dns.server], bySystem });
    expect(await lookup('receiver')).toEqual(['10.0.0.7']);
  });

  it('never by the system when its name server does not answer: that would block a shared thread', async () => {
    const dns = await nameServer(() => null);
    atEnd(() => dns.close());
    const lookup = nameLookup({ servers: [dns.server], bySystem: neverAsked });
    await expect(lookup('silent.example')).rejects.toThrow(/no name server answered/);
  }, 20_000);

  it('by the system for two names at a time at most', async () => {
    const dns = await nameServer(() => []);
    atEnd(() => dns.close());
    let underWay = 0;
    let most = 0;
    const bySystem = async () => {
      most = Math.max(most, (underWay += 1));
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return ['10.0.0.7'];
    };
    const lookup = nameLookup({ servers: [dns.server], bySystem });
    const names = Array.from({ length: 10 }, (_, i) => `name-${i}`);
    const found = await Promise.all(names.map(lookup));
    expect(found).toEqual(names.map(() => ['10.0.0.7']));
    expect(most).toBe(2);
  });

  it('or fails at once when too many names wait, and works again when they are done', async () => {
    const dns = await nameServer(() => []);
    atEnd(() => dns.close());
    const held = Promise.withResolvers<void>();
    const bySystem = async () => {
      await held.promise;
      return ['10.0.0.7'];
    };
    const lookup = nameLookup({ servers: [dns.server], bySystem });
    const names = Array.from({ length: 1_200 }, (_, i) => `name-${i}`);
    let refused = 0;
    const answers = names.map((name) =>
      lookup(name).then(
        () => 'found',
        () => {
          refused += 1;
          return 'refused';
        },
      ),
    );
    const askedOfSystemMax = 2 + 64;
    await until(() => refused === names.length - askedOfSystemMax, { timeoutMs: 60_000 });
    held.resolve();
    const found = (await Promise.all(answers)).filter((answer) => answer === 'found');
    expect(found).toHaveLength(askedOfSystemMax);
    expect(await lookup('afterwards')).toEqual(['10.0.0.7']);
  });
});

it('The names of this machine are resolved without any query', async () => {
  const lookup = exceptLoopback(neverAsked);
  for (const name of ['localhost', 'LOCALHOST.', 'api.localhost'])
    expect(await lookup(name)).toEqual(['127.0.0.1', '::1']);
  await expect(lookup('localhost.example')).rejects.toThrow();
});
