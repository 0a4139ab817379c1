/** PNG files for tests, made chunk by chunk. */
import { crc32, deflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export interface TestPng {
  readonly width?: number;
  readonly height?: number;
  readonly depth?: number;
  readonly color?: number;
  readonly interlace?: number;
  /** Instead of black rows. */
  readonly rows?: Buffer;
  /** Between header and picture data. */
  readonly extra?: readonly Buffer[];
}

/** Gray, 8 bits, unless said otherwise. */
export function pngOf({
  width = 4,
  height = 3,
  depth = 8,
  color = 0,
  interlace = 0,
  rows = Buffer.alloc((1 + width) * height),
  extra = [],
}: TestPng = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, color, 0, 0, interlace], 8);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    ...extra,
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND'),
  ]);
}

export function chunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}
