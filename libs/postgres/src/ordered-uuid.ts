import { randomFillSync } from 'node:crypto';

/**
 * A UUIDv7 (RFC 9562, section 5.7): the time in milliseconds, then 74 random bits. Use it for keys of large tables. Keys
 * of the same time share a page of the index. With random keys almost every row changes another page, and the
 * write-ahead log gets a copy of each page that is changed for the first time after a checkpoint.
 */
export function orderedUuid(nowMs: number = Date.now()): string {
  const bytes = randomFillSync(Buffer.allocUnsafe(16));
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes.writeUInt8(0x70 | (bytes.readUInt8(6) & 0x0f), 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
