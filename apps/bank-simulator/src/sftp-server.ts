/**
 * The mailbox of the ACH desk over SFTP, for the simulator as a separate process. The customer uploads into
 * one folder under a temporary name and renames; at the rename the desk takes the file. The other folder shows
 * the files of the desk. An upload is in memory until it is renamed, and is gone when the process ends.
 */
import { isSafeFileName, outboundFileMaxBytes } from '@pis/bank-rails/connections';
import ssh2, { type Attributes, type Connection, type SFTPWrapper } from 'ssh2';
import type { AchDesk } from './ach-desk.js';
import { sftpFolders } from './customer.js';
import { listening, type ListenOptions, type RunningServer } from './running-server.js';

// Node finds no named exports in this package.
const { Server, utils } = ssh2;
const { OK, EOF, FAILURE, NO_SUCH_FILE, PERMISSION_DENIED, OP_UNSUPPORTED } =
  utils.sftp.STATUS_CODE;

export interface SftpServerOptions extends ListenOptions {
  readonly desk: AchDesk;
  /** OpenSSH or PEM. */
  readonly hostKey: string;
  readonly username: string;
  /** The customer's key, as in authorized_keys. */
  readonly customerKey: string;
}

const connectionsMax = 20;
const handlesMax = 100;
const uploadsMax = 50;
const listMax = 1_000;
const namesPerAnswer = 100;
const regularFile = 0o100_644;

export async function startSftpServer(options: SftpServerOptions): Promise<RunningServer> {
  const customerKey = utils.parseKey(options.customerKey);
  if (customerKey instanceof Error) throw customerKey;
  const uploads = new Map<string, Upload>();
  const clients = new Set<Connection>();
  const server = new Server({ hostKeys: [options.hostKey] }, (client) => {
    clients.add(client);
    client.on('close', () => clients.delete(client));
    client.on('error', () => undefined);
    if (clients.size > connectionsMax) {
      client.end();
      return;
    }
    // Missing in the types. Without it, each small answer waits for more to send.
    (client as Connection & { setNoDelay(on: boolean): void }).setNoDelay(true);
    client.on('authentication', (context) => {
      const isCustomer =
        context.method === 'publickey' &&
        context.username === options.username &&
        context.key.algo === customerKey.type &&
        customerKey.getPublicSSH().equals(context.key.data) &&
        (context.signature === undefined ||
          customerKey.verify(
            context.blob ?? Buffer.alloc(0),
            context.signature,
            context.hashAlgo,
          ) === true);
      if (isCustomer) context.accept();
      else context.reject(['publickey']);
    });
    client.on('session', (accept) =>
      accept().on('sftp', (acceptSftp) => new Session(acceptSftp(), options, uploads).serve()),
    );
  });
  return listening(server, options, () => {
    for (const client of clients) client.end();
  });
}

/** Grows by doubling, so that a large upload is not copied for each of its parts. */
class Upload {
  private buffer = Buffer.alloc(64 * 1024);
  private length = 0;

  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** False when it would become too large. */
  write(offset: number, data: Buffer): boolean {
    const end = offset + data.length;
    if (end > outboundFileMaxBytes) return false;
    if (end > this.buffer.length) {
      const larger = Buffer.alloc(Math.max(end, 2 * this.buffer.length));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
    data.copy(this.buffer, offset);
    this.length = Math.max(this.length, end);
    return true;
  }
}

interface Listed {
  readonly name: string;
  readonly attrs: Attributes;
}

type Handle =
  | { readonly kind: 'upload'; readonly upload: Upload }
  | { readonly kind: 'file'; readonly bytes: Uint8Array }
  | { readonly kind: 'folder'; readonly rest: Listed[] };

/** A path of one of the two folders, or null. */
function located(path: string): { folder: keyof typeof sftpFolders; name: string } | null {
  const [, folder, name] = /^\/(outbound|inbound)\/([^/]+)$/.exec(path) ?? [];
  if (name === undefined || (folder !== 'outbound' && folder !== 'inbound')) return null;
  return { folder, name };
}

function attributesOf(size: number): Attributes {
  return { mode: regularFile, uid: 0, gid: 0, size, atime: 1, mtime: 1 };
}

/** One SFTP session of the customer. */
class Session {
  private readonly handles = new Map<string, Handle>();
  private opened = 0;

  constructor(
    private readonly sftp: SFTPWrapper,
    private readonly options: SftpServerOptions,
    /** By path; shared by all sessions, so that a new one can remove what an old one left. */
    private readonly uploads: Map<string, Upload>,
  ) {}

  serve(): void {
    const { sftp } = this;
    sftp.on('OPEN', (id, path, flags) => {
      const isRead = utils.sftp.flagsToString(flags) === 'r';
      this.answer(id, () => (isRead ? this.openFile(id, path) : this.openUpload(id, path)));
    });
    sftp.on('WRITE', (id, handle, offset, data) => {
      const open = this.handles.get(handle.toString());
      sftp.status(id, open?.kind === 'upload' && open.upload.write(offset, data) ? OK : FAILURE);
    });
    sftp.on('READ', (id, handle, offset, length) => {
      const open = this.handles.get(handle.toString());
      if (open?.kind !== 'file') sftp.status(id, FAILURE);
      else if (offset >= open.bytes.byteLength) sftp.status(id, EOF);
      else sftp.data(id, Buffer.from(open.bytes.subarray(offset, offset + length)));
    });
    sftp.on('CLOSE', (id, handle) => {
      sftp.status(id, this.handles.delete(handle.toString()) ? OK : FAILURE);
    });
    const stat = (id: number, path: string) =>
      this.answer(id, async () => {
        const size = await this.sizeOf(path);
        if (size === null) sftp.status(id, NO_SUCH_FILE);
        else sftp.attrs(id, attributesOf(size));
      });
    sftp.on('STAT', stat);
    sftp.on('LSTAT', stat);
    sftp.on('FSTAT', (id, handle) => {
      const open = this.handles.get(handle.toString());
      if (open?.kind === 'file') sftp.attrs(id, attributesOf(open.bytes.byteLength));
      else if (open?.kind === 'upload') sftp.attrs(id, attributesOf(open.upload.bytes().length));
      else sftp.status(id, FAILURE);
    });
    sftp.on('RENAME', (id, from, to) => this.answer(id, () => this.rename(id, from, to)));
    sftp.on('REMOVE', (id, path) => this.answer(id, () => this.remove(id, path)));
    sftp.on('OPENDIR', (id, path) => this.answer(id, () => this.openFolder(id, path)));
    sftp.on('READDIR', (id, handle) => {
      const open = this.handles.get(handle.toString());
      const page = open?.kind === 'folder' ? open.rest.splice(0, namesPerAnswer) : [];
      if (page.length === 0) sftp.status(id, EOF);
      else
        sftp.name(
          id,
          page.map(({ name, attrs }) => ({ filename: name, longname: name, attrs })),
        );
    });
    sftp.on('EXTENDED', (id) => sftp.status(id, OP_UNSUPPORTED));
  }

  /** The desk is a database away: an error is the customer's to try again. */
  private answer(id: number, work: () => void | Promise<void>): void {
    Promise.resolve()
      .then(work)
      .catch((error: unknown) => {
        this.options.onProblem(error);
        this.sftp.status(id, FAILURE);
      });
  }

  private open(id: number, handle: Handle): void {
    if (this.handles.size >= handlesMax) {
      this.sftp.status(id, FAILURE);
      return;
    }
    const name = String((this.opened += 1));
    this.handles.set(name, handle);
    this.sftp.handle(id, Buffer.from(name));
  }

  private openUpload(id: number, path: string): void {
    if (located(path)?.folder !== 'outbound') {
      this.sftp.status(id, PERMISSION_DENIED);
      return;
    }
    // The oldest is one that nobody finishes.
    const [oldest] = this.uploads.keys();
    if (this.uploads.size >= uploadsMax && oldest !== undefined) this.uploads.delete(oldest);
    const upload = new Upload();
    this.uploads.set(path, upload);
    this.open(id, { kind: 'upload', upload });
  }

  private async openFile(id: number, path: string): Promise<void> {
    const bytes = await this.bytesOf(path);
    if (bytes === null) this.sftp.status(id, NO_SUCH_FILE);
    else this.open(id, { kind: 'file', bytes });
  }

  private async openFolder(id: number, path: string): Promise<void> {
    const folder = path.replace(/\/+$/, '');
    if (folder === sftpFolders.inbound) {
      const files = await this.options.desk.files(listMax);
      const rest = files.map(({ name, sizeBytes }) => ({ name, attrs: attributesOf(sizeBytes) }));
      this.open(id, { kind: 'folder', rest });
    } else if (folder === sftpFolders.outbound) {
      const rest = [...this.uploads].map(([uploadPath, upload]) => ({
        name: located(uploadPath)?.name ?? '',
        attrs: attributesOf(upload.bytes().length),
      }));
      this.open(id, { kind: 'folder', rest });
    } else this.sftp.status(id, NO_SUCH_FILE);
  }

  /** At the rename the desk takes the file. It is not kept: the same file may be uploaded again. */
  private async rename(id: number, from: string, to: string): Promise<void> {
    const target = located(to);
    const upload = this.uploads.get(from);
    if (upload === undefined) {
      this.sftp.status(id, NO_SUCH_FILE);
      return;
    }
    if (target?.folder !== 'outbound' || !isSafeFileName(target.name)) {
      this.sftp.status(id, PERMISSION_DENIED);
      return;
    }
    await this.options.desk.receive(target.name, upload.bytes());
    this.uploads.delete(from);
    this.sftp.status(id, OK);
  }

  private async remove(id: number, path: string): Promise<void> {
    const place = located(path);
    if (place?.folder === 'inbound') await this.options.desk.remove(place.name);
    else if (!this.uploads.delete(path)) {
      this.sftp.status(id, NO_SUCH_FILE);
      return;
    }
    this.sftp.status(id, OK);
  }

  private async sizeOf(path: string): Promise<number | null> {
    return (await this.bytesOf(path))?.byteLength ?? null;
  }

  private async bytesOf(path: string): Promise<Uint8Array | null> {
    const place = located(path);
    if (place?.folder === 'inbound') return this.options.desk.read(place.name);
    return this.uploads.get(path)?.bytes() ?? null;
  }
}
