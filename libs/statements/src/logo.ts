/**
 * The pixels of a logo, on white. The settings of an organization accept only PNG files without interlacing whose every
 * row is there. Any other file gives no picture: a logo never holds up a statement.
 */
import { inflateSync } from 'node:zlib';

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of each pixel, one byte each. */
  readonly rgb: Uint8Array;
}

const signatureBytes = 8;
const pixelsMax = 1_024 * 1_024;
const white = 255;
const samplesByColor = new Map([
  [0, 1],
  [2, 3],
  [3, 1],
  [4, 2],
  [6, 4],
]);

interface Header {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly color: number;
  readonly samples: number;
}

export function pictureOf(file: Uint8Array): Picture | null {
  try {
    const chunks = chunksOf(Buffer.from(file.buffer, file.byteOffset, file.byteLength));
    const header = headerOf(chunks.get('IHDR'));
    const rowBytes = Math.ceil((header.width * header.samples * header.depth) / 8);
    const maxOutputLength = (rowBytes + 1) * header.height;
    const data = inflateSync(chunks.get('IDAT') ?? Buffer.of(), { maxOutputLength });
    if (data.length !== maxOutputLength) return null;
    return flattened(header, unfiltered(data, rowBytes, header), chunks);
  } catch {
    return null;
  }
}

type Chunks = ReadonlyMap<string, Buffer>;

function chunksOf(file: Buffer): Chunks {
  const chunks = new Map<string, Buffer>();
  for (let at = signatureBytes; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    const data = file.subarray(at + 8, at + 8 + length);
    const before = type === 'IDAT' ? chunks.get(type) : undefined;
    chunks.set(type, before === undefined ? data : Buffer.concat([before, data]));
    at += length + 12;
  }
  return chunks;
}

function headerOf(data: Buffer = Buffer.of()): Header {
  const [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
  const [depth, color, interlace] = [data.readUInt8(8), data.readUInt8(9), data.readUInt8(12)];
  const samples = samplesByColor.get(color);
  if (samples === undefined || interlace !== 0 || width * height > pixelsMax)
    throw new RangeError('not a picture of this service');
  return { width, height, depth, color, samples };
}

/** Undoes the filter of each row (ISO/IEC 15948, 9). */
function unfiltered(data: Buffer, rowBytes: number, { height, samples, depth }: Header): Buffer {
  const step = Math.max(1, (samples * depth) / 8);
  const rows = Buffer.alloc(rowBytes * height);
  for (let row = 0; row < height; row++) {
    const filter = data[row * (rowBytes + 1)] ?? 0;
    for (let at = 0; at < rowBytes; at++) {
      const place = row * rowBytes + at;
      const left = at < step ? 0 : (rows[place - step] ?? 0);
      const above = row === 0 ? 0 : (rows[place - rowBytes] ?? 0);
      const corner = row === 0 || at < step ? 0 : (rows[place - rowBytes - step] ?? 0);
      const byte = data[row * (rowBytes + 1) + 1 + at] ?? 0;
      rows[place] = byte + predicted(filter, left, above, corner);
    }
  }
  return rows;
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return above;
  if (filter === 3) return Math.floor((left + above) / 2);
  const guess = left + above - corner;
  const [toLeft, toAbove] = [Math.abs(guess - left), Math.abs(guess - above)];
  const toCorner = Math.abs(guess - corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

function flattened(header: Header, rows: Buffer, chunks: Chunks): Picture {
  const { width, height, samples } = header;
  const rgb = new Uint8Array(width * height * 3);
  const pixel = pixelReader(header, chunks);
  const sample = sampleReader(header, rows);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const values = Array.from({ length: samples }, (_, at) => sample(row, column * samples + at));
      const [red, green, blue, opacity] = pixel(values);
      const onWhite = (value: number) => Math.round(white + ((value - white) * opacity) / white);
      rgb.set([onWhite(red), onWhite(green), onWhite(blue)], (row * width + column) * 3);
    }
  }
  return { width, height, rgb };
}

/** A sample as it is in the file: 0 to 2^depth - 1. */
function sampleReader({ width, samples, depth }: Header, rows: Buffer) {
  const rowBytes = Math.ceil((width * samples * depth) / 8);
  return (row: number, index: number): number => {
    const start = row * rowBytes;
    if (depth === 8) return rows[start + index] ?? 0;
    if (depth === 16) return rows.readUInt16BE(start + index * 2);
    const bit = index * depth;
    const byte = rows[start + Math.floor(bit / 8)] ?? 0;
    return (byte >> (8 - depth - (bit % 8))) & (2 ** depth - 1);
  };
}

/** Red, green, blue and opacity, 0 to 255 each. */
type Pixel = readonly [number, number, number, number];

function pixelReader({ depth, color }: Header, chunks: Chunks) {
  const palette = chunks.get('PLTE') ?? Buffer.of();
  const transparency = chunks.get('tRNS') ?? Buffer.of();
  const scaled = (value: number) => Math.round((value * white) / (2 ** depth - 1));
  const isClear = (values: readonly number[]) =>
    transparency.length >= values.length * 2 &&
    values.every((value, at) => value === transparency.readUInt16BE(at * 2));
  return (values: readonly number[]): Pixel => {
    const [first = 0, second = 0, third = 0, fourth = 0] = values;
    switch (color) {
      case 0:
        return [scaled(first), scaled(first), scaled(first), isClear(values) ? 0 : white];
      case 2:
        return [scaled(first), scaled(second), scaled(third), isClear(values) ? 0 : white];
      case 3: {
        const [red = 0, green = 0, blue = 0] = palette.subarray(first * 3, first * 3 + 3);
        return [red, green, blue, transparency[first] ?? white];
      }
      case 4:
        return [scaled(first), scaled(first), scaled(first), scaled(second)];
      default:
        return [scaled(first), scaled(second), scaled(third), scaled(fourth)];
    }
  };
}
