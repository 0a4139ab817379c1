/** The mailbox of the ACH desk, reached in this process with the bytes that SFTP would carry. */
import { BankRefused, BankUnavailable } from '@pis/bank-rails';
import {
  type FileTransport,
  isSafeFileName,
  outboundFileMaxBytes,
} from '@pis/bank-rails/connections';
import type { AchDesk } from './ach-desk.js';

export function inProcessFiles(desk: AchDesk): FileTransport {
  return {
    async put(name, bytes) {
      requireSafe(name);
      if (bytes.byteLength > outboundFileMaxBytes) throw new BankRefused('the file is too large');
      await desk.receive(name, bytes);
    },
    // A name never comes twice.
    list: async (max) => (await desk.files(max)).map((file) => ({ ...file, version: '' })),
    async get(name) {
      requireSafe(name);
      const bytes = await desk.read(name);
      if (bytes === null) throw new BankUnavailable('the bank has no file of this name');
      return bytes;
    },
    // Never another file: see `list`.
    async remove({ name }) {
      requireSafe(name);
      await desk.remove(name);
      return true;
    },
    onFile: (listener) => desk.onFile(listener),
    close: () => Promise.resolve(),
  };
}

function requireSafe(name: string): void {
  if (!isSafeFileName(name)) throw new BankRefused('not the name of a file');
}
