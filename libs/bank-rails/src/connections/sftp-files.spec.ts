/** Files over SFTP, against a real SSH server. */
import { createServer, type AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { BankRefused, BankUnavailable } from '../bank-connection.js';
import { fileTransportConformance } from '../testing/file-transport.conformance.js';
import { sshKeyPair, startSftpServer, type TestSftpServer } from '../testing/sftp-server.js';
import type { FileTransport } from './file-transport.js';
import { sftpFiles, type SftpFilesOptions } from './sftp-files.js';

const atEnd = closeAfterEach();

const key = sshKeyPair();
const password = 'correct horse battery staple';
const untilMs = 30_000;
const text = (content: string) => Buffer.from(content);

let server: TestSftpServer;
const opened: FileTransport[] = [];
beforeEach(async () => {
  server = await startSftpServer({ username: 'acme', password, publicKey: key.publicKey });
});
afterEach(async () => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
  await server.stop();
});

function open(options: Partial<SftpFilesOptions> = {}): FileTransport {
  const transport = sftpFiles({
    host: '127.0.0.1',
    port: server.port,
    username: 'acme',
    credentials: { privateKey: key.privateKey, passphrase: null },
    hostKeys: [server.publicKey],
    outboundFolder: '/out',
    inboundFolder: '/in/',
    pollMs: 20,
    inboundSettleMs: 0,
    reconnectMs: 1,
    ...options,
  });
  opened.push(transport);
  return transport;
}

const inFolder = (folder: string) =>
  new Map(
    [...server.files]
      .filter(([path]) => path.startsWith(`${folder}/`))
      .map(([path, { bytes }]) => [path.slice(folder.length + 1), bytes]),
  );
const received = () => new Map([...inFolder('/out')].filter(([name]) => !name.startsWith('.')));
const leave = (name: string, bytes: Uint8Array, mtime = 1) =>
  void server.files.set(`/in/${name}`, { bytes: Buffer.from(bytes), mtime });

fileTransportConformance('SFTP', () => {
  let mtime = 0;
  return Promise.resolve({
    ...{ transport: open(), received, close: () => Promise.resolve() },
    leave: (name: string, bytes: Uint8Array) => leave(name, bytes, (mtime += 1)),
  });
});

describe('the host key', () => {
  it.each(['SHA256', 'public key'])('is accepted when it is pinned by its %s', async (form) => {
    const { fingerprintOf } = await import('./host-keys.js');
    const blob = Buffer.from(server.publicKey.split(' ')[1] ?? '', 'base64');
    const pin = form === 'SHA256' ? fingerprintOf(blob) : server.publicKey;
    await open({ hostKeys: [sshKeyPair().publicKey, pin] }).put('a.ach', text('a'));
    expect(received().size).toBe(1);
  });

  it('is refused when another one is pinned, before any credential is sent', async () => {
    const other = sshKeyPair().publicKey;
    const attempt = open({ hostKeys: [other] }).put('a.ach', text('a'));
    await expect(attempt).rejects.toThrow(/host key SHA256:\S{43}, which is not pinned/);
    await expect(attempt).rejects.toBeInstanceOf(BankUnavailable);
    expect(server.authentications()).toBe(0);
  });

  it('must be pinned', () => {
    expect(() => open({ hostKeys: [] })).toThrow('no host key is pinned');
    expect(() => open({ hostKeys: ['MD5:00:11'] })).toThrow('is neither SHA256');
  });
});

describe('credentials', () => {
  it('may be a password', async () => {
    await open({ credentials: { password } }).put('a.ach', text('a'));
    expect(received().size).toBe(1);
  });

  it('that are refused are not tried again at once, and are in no message', async () => {
    const transport = open({ credentials: { password: 'a wrong password' } });
    const attempts = [1, 2, 3].map(() => transport.list(1));
    for (const attempt of attempts)
      await expect(attempt).rejects.toThrow(/refuses the credentials of acme$/);
    await expect(transport.list(1)).rejects.toThrow(/refuses the credentials/);
    expect(server.connections()).toBe(1);
    for (const attempt of attempts) {
      const error = await attempt.catch((reason: unknown) => reason as Error);
      expect(JSON.stringify([error, String((error as Error).cause)])).not.toContain('wrong');
    }
  });

  it('that cannot be read are refused without being quoted', () => {
    const credentials = { privateKey: 'secret nonsense', passphrase: null };
    expect(() => open({ credentials })).toThrow(/^the private key cannot be read$/);
  });
});

describe('an upload', () => {
  const bytes = Buffer.alloc(500_000, '6221210002480');

  it('that is cut in the middle shows the bank nothing, and the next one leaves one whole file', async () => {
    server.faults.cutAfterBytes = 200_000;
    const transport = open();
    await expect(transport.put('a.ach', bytes)).rejects.toBeInstanceOf(BankUnavailable);
    expect([...received().keys()]).toEqual([]);
    expect(inFolder('/out').size).toBe(1);
    await until(() => transport.put('a.ach', bytes).then(() => true), { timeoutMs: untilMs });
    expect([...inFolder('/out').keys()]).toEqual(['a.ach']);
    expect(received().get('a.ach')?.equals(bytes)).toBe(true);
  });

  it('whose last answer is lost is not made a second time', async () => {
    server.faults.cutAfterRename = true;
    const transport = open();
    await expect(transport.put('a.ach', bytes)).rejects.toBeInstanceOf(BankUnavailable);
    const [file] = server.files.values();
    await until(() => transport.put('a.ach', bytes).then(() => true), { timeoutMs: untilMs });
    expect([...server.files.values()]).toEqual([file]);
    expect([...server.files.values()][0]).toBe(file);
  });

  it('works where the bank lets us write, and not look', async () => {
    server.faults.forbids = ['READ', 'OPENDIR'];
    const transport = open();
    await transport.put('a.ach', bytes);
    await transport.put('a.ach', bytes);
    expect([...inFolder('/out').keys()]).toEqual(['a.ach']);
  });

  it('of two at once leaves one whole file', async () => {
    const ends = await Promise.allSettled([open(), open()].map((one) => one.put('a.ach', bytes)));
    expect(ends.some(({ status }) => status === 'fulfilled')).toBe(true);
    expect(received().get('a.ach')?.equals(bytes)).toBe(true);
    await open().put('a.ach', bytes);
    expect([...inFolder('/out').keys()]).toEqual(['a.ach']);
  });

  it('of a file above the limit is refused', async () => {
    await expect(open({ fileMaxBytes: 10 }).put('a.ach', bytes)).rejects.toThrow(BankRefused);
    expect(server.connections()).toBe(0);
  });
});

describe('the inbox', () => {
  it.each(['.hidden', 'a.part', 'a.TMP', 'a.filepart', 'a~', '.a.ach.12345678.part'])(
    'does not list %s, which the bank is still writing',
    async (name) => {
      leave(name, text('half'));
      leave('whole.ack', text('whole'));
      expect((await open().list(10)).map((file) => file.name)).toEqual(['whole.ack']);
    },
  );

  it('lists a file that grows as unsettled until it has not changed for the configured time', async () => {
    const clock = jest.spyOn(performance, 'now');
    const transport = open({ inboundSettleMs: 100, pollMs: 10_000 });
    const sizesAt = async (nowMs: number) => {
      clock.mockReturnValue(nowMs);
      return (await transport.list(10)).map(({ sizeBytes, isUnsettled }) => [
        sizeBytes,
        isUnsettled ?? false,
      ]);
    };
    leave('a.ret', text('half'), 1);
    expect(await sizesAt(0)).toEqual([[4, true]]);
    leave('a.ret', text('half and more'), 2);
    expect(await sizesAt(100)).toEqual([[13, true]]);
    expect(await sizesAt(199)).toEqual([[13, true]]);
    expect(await sizesAt(200)).toEqual([[13, false]]);
  });

  it('skips names that are not safe, folders too, and warns of each name once', async () => {
    const warnings: string[] = [];
    const transport = open({ warn: (message) => warnings.push(message) });
    for (const name of ['../../etc/passwd', 'a\u0000b', 'x\u001b[2Jy', 'ok.ack', '\u202ek'])
      leave(name, text('x'));
    expect((await transport.list(100)).map((file) => file.name)).toEqual(['ok.ack']);
    await transport.list(100);
    expect(warnings).toHaveLength(4);
    expect(warnings.join('')).not.toMatch(/[\u0000-\u001f]/);
  });

  it('that is too full is never mistaken for one that was listed to its end', async () => {
    const max = 10_000;
    // The server also lists a folder.
    for (let number = 0; number < max; number += 1) leave(`${number}.ack`, text('x'));
    const transport = open();
    expect(await transport.list(max)).toHaveLength(max);
    leave('one more.ret', text('x'));
    expect(await transport.list(max)).toHaveLength(max);
  });

  it('is listed to its end also from a server that names one file at a time', async () => {
    server.faults.namesInAnswer = 1;
    leave('a.ack', text('a'));
    leave('b.ack', text('b'));
    expect((await open().list(10)).map((file) => file.name)).toEqual(['a.ack', 'b.ack']);
  });

  it('refuses to read a file above the limit', async () => {
    leave('huge.ret', Buffer.alloc(1_000));
    const transport = open({ fileMaxBytes: 999 });
    expect(await transport.list(10)).toMatchObject([{ name: 'huge.ret', sizeBytes: 1_000 }]);
    await expect(transport.get('huge.ret')).rejects.toThrow(BankRefused);
  });
});

describe('a server', () => {
  it('that goes away is unavailable, and is used again when it is back', async () => {
    const transport = open();
    await transport.put('a.ach', text('a'));
    await server.stop();
    await until(
      () =>
        transport.list(1).then(
          () => false,
          () => true,
        ),
      { timeoutMs: untilMs },
    );
    await expect(transport.list(1)).rejects.toBeInstanceOf(BankUnavailable);
    await server.start();
    leave('a.ack', text('a'));
    const files = await until(() => transport.list(1), { timeoutMs: untilMs });
    expect(files).toMatchObject([{ name: 'a.ack', sizeBytes: 1 }]);
  });

  it('that does not answer is given up after the time limit, and does not hold up another bank', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const slow = open({ timeoutMs: 1_000 });
    await slow.list(1);
    server.faults.hangs = true;
    const other = await startSftpServer({ username: 'acme', password });
    atEnd(() => other.stop());
    const quick = open({
      port: other.port,
      hostKeys: [other.publicKey],
      credentials: { password },
    });
    const givenUp = expect(slow.list(1)).rejects.toThrow(/no answer to .* within 1000 ms/);
    await quick.put('a.ach', text('a'));
    expect(other.files.size).toBe(1);
    jest.advanceTimersByTime(1_000);
    await givenUp;
  });

  it('gets no file of a process that was frozen in the middle of its upload', async () => {
    const clock = jest.spyOn(Date, 'now');
    const transport = open();
    const bytes = text('a file');
    const set = server.files.set.bind(server.files);
    jest.spyOn(server.files, 'set').mockImplementation((path, file) => {
      if (path.endsWith('.part')) clock.mockReturnValue(Date.now() + 3_600_000);
      return set(path, file);
    });
    await expect(transport.put('a.ach', bytes)).rejects.toThrow(BankUnavailable);
    expect(received().size).toBe(0);
    jest.restoreAllMocks();
    await until(() => transport.put('a.ach', bytes).then(() => true), { timeoutMs: untilMs });
    expect(received()).toEqual(new Map([['a.ach', bytes]]));
  });

  it('is connected to once, by however many calls at a time', async () => {
    const transport = open();
    await Promise.all(Array.from({ length: 20 }, (_, i) => transport.put(`${i}.ach`, text('x'))));
    expect(received().size).toBe(20);
    expect(server.connections()).toBe(1);
  });

  it('that cuts each new connection is not connected to again at once', async () => {
    const transport = open({ reconnectMs: 60_000 });
    await transport.put('a.ach', text('a'));
    server.faults.cutAfterBytes = 0;
    await expect(transport.put('b.ach', text('bb'))).rejects.toBeInstanceOf(BankUnavailable);
    for (let tries = 0; tries < 5; tries += 1)
      await expect(transport.list(1)).rejects.toBeInstanceOf(BankUnavailable);
    expect(server.connections()).toBe(1);
  });

  it('that never greets does not hold up the end', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', () => resolve()));
    const transport = open({ port: (silent.address() as AddressInfo).port });
    const waiting = transport.list(1);
    await transport.close();
    await expect(waiting).rejects.toBeInstanceOf(BankUnavailable);
    await new Promise((resolve) => silent.close(resolve));
  });

  it('is not connected to after the end', async () => {
    const transport = open();
    await transport.close();
    await expect(transport.list(1)).rejects.toBeInstanceOf(BankUnavailable);
    expect(server.connections()).toBe(0);
  });
});
