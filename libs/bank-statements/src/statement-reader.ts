/** Reads a statement file of either format. */
import { readBai2 } from './bai2-reader.js';
import { readCamt053 } from './camt053-reader.js';
import { type StatementPart, StatementRefused } from './statement-parts.js';

/** Bytes in which the format must show itself. White space may come first. */
const sniffedMaxBytes = 1_024;

/**
 * The parts of the file, in its order. What was given before a refusal is from a file that is not to be trusted.
 * @throws StatementRefused
 */
export async function* readStatement(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<StatementPart> {
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    const first: Uint8Array[] = [];
    let sniffed = '';
    while (sniffed.trim() === '' && sniffed.length < sniffedMaxBytes) {
      const { done, value } = await iterator.next();
      if (done === true) break;
      first.push(value);
      sniffed += Buffer.from(value)
        .toString('latin1')
        .replace(/^\xef\xbb\xbf/, '');
    }
    const begin = sniffed.trim().charAt(0);
    if (begin === '<') yield* readCamt053(resumed(first, iterator));
    else if (begin === '0') yield* readBai2(resumed(first, iterator));
    else throw new StatementRefused(1, 'this is neither camt.053 nor BAI2');
  } finally {
    await iterator.return?.();
  }
}

async function* resumed(
  first: readonly Uint8Array[],
  iterator: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* first;
  for (;;) {
    const { done, value } = await iterator.next();
    if (done === true) return;
    yield value;
  }
}
