/** A bank in memory for the bench: takes NACHA files, accepts all their entries, and then returns all of them. */
import { createHash } from 'node:crypto';
import {
  groupIntoFiles,
  nachaProblemText,
  parseNachaFile,
  returnedEntry,
  traceNumberOf,
  writeAckFile,
  writeNachaFile,
} from '@pis/bank-rails/ach';

const rdfi = '01100013';
const at = '2026-11-24T15:00:00.000Z';

export function benchBank() {
  const uploads = [];
  const inbox = new Map();
  return {
    uploads,
    inbox,
    transport: {
      put: async (name, bytes) => void uploads.push({ name, bytes }),
      list: async (max) =>
        [...inbox].slice(0, max).map(([name, bytes]) => ({ name, sizeBytes: bytes.length })),
      get: async (name) => inbox.get(name),
      remove: async ({ name }) => {
        inbox.delete(name);
        return true;
      },
      onFile: () => () => undefined,
      close: async () => undefined,
    },
    accept() {
      for (const { name, bytes } of uploads) {
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        const ack = { name, sha256, status: 'accepted', code: null, message: null, at };
        inbox.set(`${name}.ack`, writeAckFile({ ...ack, entries: [] }));
      }
    },
    /** One return file for each uploaded one. */
    async returnAll(reason) {
      let sequence = 0;
      for (const { name, bytes } of uploads) {
        const { file, problem } = await parseNachaFile(bytes);
        if (file === null) throw new Error(nachaProblemText(problem));
        const items = file.batches.flatMap(({ entries, ...batch }) =>
          entries.map((entry) => {
            sequence += 1;
            const traceNumber = traceNumberOf(rdfi, sequence);
            return returnedEntry({ batch, entry }, { reason, traceNumber });
          }),
        );
        const [batches] = groupIntoFiles(items);
        inbox.set(`${name}.ret`, await writeNachaFile({ header: file.header, batches }));
      }
    },
  };
}
