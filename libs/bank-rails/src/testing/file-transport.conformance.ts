import { BankRefused } from '../bank-connection.js';
import type { FileTransport, RemoteFile } from '../connections/file-transport.js';

export interface MailboxUnderTest {
  readonly transport: FileTransport;
  /** The files of ours that the bank can see, by name. */
  received(): ReadonlyMap<string, Uint8Array>;
  /** The bank leaves a whole file for us, each later than the one before. */
  leave(name: string, bytes: Uint8Array): void;
  close(): Promise<void>;
}

const text = (content: string) => Buffer.from(content);
/** More than a few requests of any protocol. */
const largeBytes = 1_000_003;

/** What every adapter of the port to a bank's files must do. */
export function fileTransportConformance(
  name: string,
  open: () => Promise<MailboxUnderTest>,
): void {
  describe(`a mailbox of files, ${name}`, () => {
    let mailbox: MailboxUnderTest;
    let transport: FileTransport;
    beforeEach(async () => {
      mailbox = await open();
      ({ transport } = mailbox);
    });
    afterEach(() => mailbox.close());

    async function listed(wanted: string): Promise<RemoteFile> {
      const file = (await transport.list(100)).find((one) => one.name === wanted);
      if (file === undefined) throw new Error(`${wanted} is not listed`);
      return file;
    }

    it('uploads a file with its exact bytes, empty and large ones too', async () => {
      const large = Buffer.alloc(largeBytes, 'NACHA');
      await transport.put('one.ach', text('101 one'));
      await transport.put('empty.ach', text(''));
      await transport.put('large.ach', large);
      expect([...mailbox.received().keys()].sort()).toEqual(['empty.ach', 'large.ach', 'one.ach']);
      expect(Buffer.from(mailbox.received().get('one.ach') ?? [])).toEqual(text('101 one'));
      expect(mailbox.received().get('empty.ach')).toHaveLength(0);
      expect(large.equals(mailbox.received().get('large.ach') ?? text(''))).toBe(true);
    });

    it('takes the same name with the same bytes again, and refuses it with others', async () => {
      await transport.put('one.ach', text('one'));
      await transport.put('one.ach', text('one'));
      await expect(transport.put('one.ach', text('two'))).rejects.toThrow(BankRefused);
      await expect(transport.put('one.ach', text('longer'))).rejects.toThrow(BankRefused);
      expect(Buffer.from(mailbox.received().get('one.ach') ?? [])).toEqual(text('one'));
    });

    it('lists the files of the bank by name, at most as many as asked for, and reads them', async () => {
      for (const file of ['b.ack', 'a.ack', 'c.ret']) mailbox.leave(file, text(`of ${file}`));
      expect(await transport.list(2)).toMatchObject([
        { name: 'a.ack', sizeBytes: 8 },
        { name: 'b.ack', sizeBytes: 8 },
      ]);
      expect((await transport.list(10)).map((file) => file.name)).toEqual([
        'a.ack',
        'b.ack',
        'c.ret',
      ]);
      expect(Buffer.from(await transport.get('b.ack'))).toEqual(text('of b.ack'));
    });

    it('reads a file again until it is removed, and removes it again without an error', async () => {
      mailbox.leave('a.ack', text('a'));
      expect(Buffer.from(await transport.get('a.ack'))).toEqual(text('a'));
      expect(Buffer.from(await transport.get('a.ack'))).toEqual(text('a'));
      const file = await listed('a.ack');
      expect(await transport.remove(file)).toBe(true);
      expect(await transport.remove(file)).toBe(true);
      expect(await transport.list(10)).toEqual([]);
      await expect(transport.get('a.ack')).rejects.toMatchObject({ name: 'BankUnavailable' });
    });

    it.each([
      ['of the same size', 'two'],
      ['of another size', 'longer'],
    ])('keeps a file that was written again after it was read, %s', async (_size, newer) => {
      mailbox.leave('a.ack', text('one'));
      const older = await listed('a.ack');
      expect(Buffer.from(await transport.get('a.ack'))).toEqual(text('one'));
      mailbox.leave('a.ack', text(newer));
      expect(await transport.remove(older)).toBe(false);
      expect(Buffer.from(await transport.get('a.ack'))).toEqual(text(newer));
      expect(await transport.remove(await listed('a.ack'))).toBe(true);
      expect(await transport.list(10)).toEqual([]);
    });

    it.each([
      '',
      '.',
      '..',
      '../a',
      'a/b',
      'a\\b',
      '/a',
      'a\0b',
      'a\nb',
      ' a',
      'é',
      'x'.repeat(201),
    ])('refuses the name %j, for whatever it is asked to do with it', async (hostile) => {
      await expect(transport.put(hostile, text('x'))).rejects.toThrow(BankRefused);
      await expect(transport.get(hostile)).rejects.toThrow(BankRefused);
      const file = { name: hostile, sizeBytes: 1, version: '' };
      await expect(transport.remove(file)).rejects.toThrow(BankRefused);
      expect(mailbox.received().size).toBe(0);
    });

    it('calls back when the bank has left a file', async () => {
      const called = new Promise<void>((resolve) => {
        transport.onFile(resolve);
      });
      mailbox.leave('a.ack', text('a'));
      await called;
    });
  });
}
