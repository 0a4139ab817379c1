/** Participant lists in the layouts of the operators, with made-up banks. */
import type { DirectoryKind } from '../directory/routing-directory.js';

export interface ListedBank {
  readonly routingNumber: string;
  readonly name: string;
  readonly takesPart?: boolean;
}

/** The nth routing number with a valid checksum, from 061000000. */
export function routingNumberAt(index: number): string {
  const digits = String(6_100_000 + index).padStart(8, '0');
  const weights = [3, 7, 1, 3, 7, 1, 3, 7];
  const sum = weights.reduce((total, weight, at) => total + weight * Number(digits[at]), 0);
  return digits + String((10 - (sum % 10)) % 10);
}

export function rowOf(kind: DirectoryKind, bank: ListedBank): string {
  const { routingNumber, name, takesPart = true } = bank;
  switch (kind) {
    case 'fedach':
      return [
        routingNumber,
        'O',
        '061000146',
        '1',
        '010125',
        '000000000',
        name.padEnd(36),
        '1 BANK STREET'.padEnd(36),
        'ATLANTA'.padEnd(20),
        'GA',
        '30303',
        '0000',
        '4045550100',
        '1',
        '1',
        ' '.repeat(5),
      ].join('');
    case 'fedwire':
      return [
        routingNumber,
        name.slice(0, 18).padEnd(18),
        name.padEnd(36),
        'GA',
        'ATLANTA'.padEnd(25),
        takesPart ? 'Y' : 'N',
        ' ',
        'N',
        '20250101',
      ].join('');
    case 'rtp':
    case 'fednow':
      return `${routingNumber},"${name.replaceAll('"', '""')}",${takesPart ? 'Y' : 'N'}`;
  }
}

export function listOf(kind: DirectoryKind, banks: readonly ListedBank[]): string {
  const header = kind === 'rtp' || kind === 'fednow' ? ['routing_number,name,receives'] : [];
  return [...header, ...banks.map((bank) => rowOf(kind, bank)), ''].join('\n');
}

/** A file in chunks of this size. */
export async function* chunksOf(content: string | Uint8Array, chunkBytes = 4_096) {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length; at += chunkBytes)
    yield await Promise.resolve(bytes.subarray(at, at + chunkBytes));
}
