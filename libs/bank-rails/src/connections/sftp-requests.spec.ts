/** What a server that offers OpenSSH's extensions is asked for. The server of sftp-files.spec.ts offers none. */
import type { SFTPWrapper } from 'ssh2';
import { rename, upload } from './sftp-requests.js';
import type { SftpSession } from './sftp-connection.js';

type Done = (error: Error | null, value?: unknown) => void;

/** A session whose server does as it is told and records the requests. */
function recording(requests: string[]): SftpSession {
  const sftp = {
    open: (path: string, mode: string, done: Done) => {
      requests.push(`open ${path} ${mode}`);
      done(null, Buffer.from('handle'));
    },
    write: (
      _handle: Buffer,
      _bytes: Buffer,
      at: number,
      length: number,
      _to: number,
      done: Done,
    ) => {
      requests.push(`write ${length} at ${at}`);
      done(null);
    },
    ext_openssh_fsync: (_handle: Buffer, done: Done) => {
      requests.push('fsync');
      done(null);
    },
    fstat: (_handle: Buffer, done: Done) => done(null, { size: 40_000 }),
    close: (_handle: Buffer, done: Done) => {
      requests.push('close');
      done(null);
    },
    ext_openssh_rename: (from: string, to: string, done: Done) => {
      requests.push(`posix-rename ${from} ${to}`);
      done(null);
    },
  };
  const call = <Value>(_request: string, begin: (sftp: SFTPWrapper, done: Done) => void) =>
    new Promise<Value>((resolve, reject) => {
      begin(sftp as unknown as SFTPWrapper, (error, value) =>
        error ? reject(error) : resolve(value as Value),
      );
    });
  return { call } as unknown as SftpSession;
}

it('writes a file to the disk before it is renamed, in one step', async () => {
  const requests: string[] = [];
  const session = recording(requests);
  await upload(session, '/out/.a.part', Buffer.alloc(40_000));
  await rename(session, '/out/.a.part', '/out/a');
  expect(requests).toEqual([
    'open /out/.a.part wx',
    'write 32768 at 0',
    'write 7232 at 32768',
    'fsync',
    'close',
    'posix-rename /out/.a.part /out/a',
  ]);
});

it('does not take a file for uploaded that arrived in part', async () => {
  await expect(upload(recording([]), '/out/.a.part', Buffer.alloc(50_000))).rejects.toThrow(
    '40000 of 50000 bytes arrived at the bank',
  );
});
