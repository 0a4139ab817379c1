/**
 * A real SSH server on 127.0.0.1 with SFTP over files in memory, for tests of the client. It can misbehave:
 * see `faults`.
 */
import type { AddressInfo } from 'node:net';
import ssh2, { type Attributes, type Connection, type SFTPWrapper } from 'ssh2';

/** Node cannot read the named exports of this package. */
const { Server, utils } = ssh2;

export interface SftpFaults {
  /** Cuts the connection after so many bytes were written, once. */
  cutAfterBytes: number | null;
  /** Answers no request of SFTP. */
  hangs: boolean;
  /** Answers such requests with "permission denied". */
  forbids: readonly ('STAT' | 'READ' | 'OPENDIR' | 'REMOVE')[];
  /** Names in one answer to a look at a folder, at most. */
  namesInAnswer: number;
  /** Cuts the connection after a file was renamed, before the answer, once. */
  cutAfterRename: boolean;
}

export interface TestSftpServer {
  readonly port: number;
  /** Of its host key. */
  readonly publicKey: string;
  /** By path. */
  readonly files: Map<string, { bytes: Buffer; mtime: number }>;
  readonly faults: SftpFaults;
  /** Connections so far. */
  connections(): number;
  /** Credentials that were shown so far. */
  authentications(): number;
  /** Cuts all connections and listens no more. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
}

export interface TestSftpServerOptions {
  readonly username: string;
  /** Either of them is accepted. */
  readonly password?: string;
  readonly publicKey?: string;
}

const ok = utils.sftp.STATUS_CODE.OK;
const { EOF, FAILURE, NO_SUCH_FILE, PERMISSION_DENIED, OP_UNSUPPORTED } = utils.sftp.STATUS_CODE;
const regularFile = 0o100_644;
const folder = 0o040_755;

const keyTriesMax = 20;

/** An SSH key pair. Some that the library makes it cannot read itself: then it makes another one. */
export function sshKeyPair(): { readonly privateKey: string; readonly publicKey: string } {
  for (let tries = 0; tries < keyTriesMax; tries += 1) {
    const pair = utils.generateKeyPairSync('ed25519');
    if (!(utils.parseKey(pair.private) instanceof Error))
      return { privateKey: pair.private, publicKey: pair.public };
  }
  throw new Error('no usable SSH key');
}

export async function startSftpServer(options: TestSftpServerOptions): Promise<TestSftpServer> {
  const host = sshKeyPair();
  const files: TestSftpServer['files'] = new Map();
  const faults: SftpFaults = {
    cutAfterBytes: null,
    hangs: false,
    forbids: [],
    namesInAnswer: 100,
    cutAfterRename: false,
  };
  const clients = new Set<Connection>();
  let connections = 0;
  let authentications = 0;
  let server: ssh2.Server;
  let port = 0;

  const start = () => {
    server = new Server({ hostKeys: [host.privateKey] }, (client) => {
      connections += 1;
      clients.add(client);
      // Missing in the types. Without it, each small answer waits for more to send.
      (client as Connection & { setNoDelay(on: boolean): void }).setNoDelay(true);
      client.on('close', () => clients.delete(client));
      client.on('error', () => undefined);
      client.on('authentication', (context) => {
        authentications += 1;
        const key = context.method === 'publickey' ? context.key : null;
        const known = options.publicKey === undefined ? null : utils.parseKey(options.publicKey);
        const isKey =
          key !== null &&
          known !== null &&
          !(known instanceof Error) &&
          known.getPublicSSH().equals(key.data);
        const isPassword = context.method === 'password' && context.password === options.password;
        if (context.username === options.username && (isKey || isPassword)) context.accept();
        else context.reject();
      });
      client.on('session', (accept) =>
        accept().on('sftp', (acceptSftp) => serve(acceptSftp(), client, files, faults)),
      );
    });
    return new Promise<void>((resolve, reject) => {
      server.on('error', reject);
      server.listen(port, '127.0.0.1', () => {
        ({ port } = server.address() as AddressInfo);
        resolve();
      });
    });
  };
  await start();
  return {
    port,
    publicKey: host.publicKey,
    files,
    faults,
    connections: () => connections,
    authentications: () => authentications,
    start,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const client of clients) client.end();
      }),
  };
}

interface Handle {
  readonly path: string;
  entries: string[] | null;
}

function serve(
  sftp: SFTPWrapper,
  client: Connection,
  files: TestSftpServer['files'],
  faults: SftpFaults,
): void {
  const handles = new Map<string, Handle>();
  let opened = 0;
  const open = (handle: Handle): Buffer => {
    const id = String((opened += 1));
    handles.set(id, handle);
    return Buffer.from(id);
  };
  const handleOf = (id: Buffer) => handles.get(id.toString());
  const attributesOf = (path: string): Attributes | null => {
    const file = files.get(path);
    if (file === undefined) return null;
    const { bytes, mtime } = file;
    return { mode: regularFile, uid: 0, gid: 0, size: bytes.length, atime: mtime, mtime };
  };
  const rename = (id: number, from: string, to: string) => {
    const file = files.get(from);
    if (file === undefined) {
      sftp.status(id, NO_SUCH_FILE);
      return;
    }
    files.delete(from);
    files.set(to, file);
    if (!faults.cutAfterRename) {
      sftp.status(id, ok);
      return;
    }
    faults.cutAfterRename = false;
    client.end();
  };
  /** False when a fault has answered already, or nothing answers. */
  const mayAnswer = (id: number, kind?: SftpFaults['forbids'][number]): boolean => {
    if (faults.hangs) return false;
    if (kind === undefined || !faults.forbids.includes(kind)) return true;
    sftp.status(id, PERMISSION_DENIED);
    return false;
  };

  sftp.on('OPEN', (id, path, flags) => {
    const mode = utils.sftp.flagsToString(flags);
    const isRead = mode === 'r';
    if (!mayAnswer(id, isRead ? 'READ' : undefined)) return;
    const exists = files.has(path);
    if (isRead && !exists) sftp.status(id, NO_SUCH_FILE);
    else if (mode === 'wx' && exists) sftp.status(id, FAILURE);
    else {
      if (!isRead) files.set(path, { bytes: Buffer.alloc(0), mtime: 1 });
      sftp.handle(id, open({ path, entries: null }));
    }
  });
  sftp.on('WRITE', (id, handle, offset, data) => {
    if (!mayAnswer(id)) return;
    const file = files.get(handleOf(handle)?.path ?? '');
    if (file === undefined) {
      sftp.status(id, FAILURE);
      return;
    }
    const bytes = Buffer.alloc(Math.max(file.bytes.length, offset + data.length));
    file.bytes.copy(bytes);
    data.copy(bytes, offset);
    file.bytes = bytes;
    if (faults.cutAfterBytes !== null && bytes.length > faults.cutAfterBytes) {
      faults.cutAfterBytes = null;
      client.end();
      return;
    }
    sftp.status(id, ok);
  });
  sftp.on('READ', (id, handle, offset, length) => {
    if (!mayAnswer(id)) return;
    const bytes = files.get(handleOf(handle)?.path ?? '')?.bytes;
    if (bytes === undefined) sftp.status(id, FAILURE);
    else if (offset >= bytes.length) sftp.status(id, EOF);
    else sftp.data(id, bytes.subarray(offset, offset + length));
  });
  const attributes = (id: number, path: string) => {
    const found = attributesOf(path);
    if (found === null) sftp.status(id, NO_SUCH_FILE);
    else sftp.attrs(id, found);
  };
  sftp.on('FSTAT', (id, handle) => {
    if (mayAnswer(id)) attributes(id, handleOf(handle)?.path ?? '');
  });
  sftp.on('STAT', (id, path) => {
    if (mayAnswer(id, 'STAT')) attributes(id, path);
  });
  sftp.on('CLOSE', (id, handle) => {
    if (!mayAnswer(id)) return;
    handles.delete(handle.toString());
    sftp.status(id, ok);
  });
  sftp.on('REMOVE', (id, path) => {
    if (mayAnswer(id, 'REMOVE')) sftp.status(id, files.delete(path) ? ok : NO_SUCH_FILE);
  });
  sftp.on('RENAME', (id, from, to) => {
    if (!mayAnswer(id)) return;
    if (files.has(to)) sftp.status(id, FAILURE);
    else rename(id, from, to);
  });
  sftp.on('OPENDIR', (id, path) => {
    if (!mayAnswer(id, 'OPENDIR')) return;
    const folderPath = path.replace(/\/+$/, '');
    const inside = [...files.keys()].filter((one) => one.startsWith(`${folderPath}/`));
    sftp.handle(id, open({ path: folderPath, entries: ['/.', '/..', '/folder'].concat(inside) }));
  });
  sftp.on('READDIR', (id, handle) => {
    if (!mayAnswer(id)) return;
    const listed = handleOf(handle);
    const page = listed?.entries?.splice(0, faults.namesInAnswer) ?? [];
    if (listed === undefined || page.length === 0) {
      sftp.status(id, EOF);
      return;
    }
    sftp.name(
      id,
      page.map((path) => ({
        filename:
          path.startsWith('/.') || path === '/folder'
            ? path.slice(1)
            : path.slice(listed.path.length + 1),
        longname: path,
        attrs: attributesOf(path) ?? { mode: folder, uid: 0, gid: 0, size: 0, atime: 0, mtime: 0 },
      })),
    );
  });
  sftp.on('EXTENDED', (id) => sftp.status(id, OP_UNSUPPORTED));
}
