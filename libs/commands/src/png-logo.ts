/**
 * Reads a logo: a PNG (ISO/IEC 15948) whose every byte is accounted for. What browsers get is written anew from the
 * chunks that make up the picture. Metadata, such as where a photograph was taken, is left out.
 */
import { crc32, inflateSync } from 'node:zlib';
import { createHash } from 'node:crypto';
import { type Logo, logoBytesMax, logoPixelsMax } from '@pis/domain';

/** Of the file as it is given, with its metadata. */
export const logoFileBytesMax = 64 * 1024;

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const lengthBytes = 4;
const typeBytes = 4;
const frameBytes = lengthBytes + typeBytes + 4;
const headerBytes = 13;
const kept: readonly string[] = ['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND'];
const chunkTypeForm = /^[A-Za-z]{4}$/;

/** Samples of a pixel, and the bits that a sample may have, by color type. */
const colorTypes = new Map<
  number,
  { readonly samples: number; readonly depths: readonly number[] }
>([
  [0, { samples: 1, depths: [1, 2, 4, 8, 16] }],
  [2, { samples: 3, depths: [8, 16] }],
  [3, { samples: 1, depths: [1, 2, 4, 8] }],
  [4, { samples: 2, depths: [8, 16] }],
  [6, { samples: 4, depths: [8, 16] }],
]);
const paletteType = 3;
const paletteBytesMax = 768;
const filterTypeMax = 4;

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
  /** With its length and checksum. */
  readonly whole: Buffer;
}

/** @returns what is wrong with it, in words, instead of the logo */
export function readLogo(file: Buffer): Logo | string {
  if (file.length > logoFileBytesMax) return `it has more than ${logoFileBytesMax} bytes`;
  if (!file.subarray(0, signature.length).equals(signature)) return 'it is no PNG file';
  const chunks = chunksOf(file);
  if (typeof chunks === 'string') return chunks;
  const picture = chunks.filter(({ type }) => kept.includes(type));
  const size = sizeOf(picture);
  if (typeof size === 'string') return size;
  const png = Buffer.concat([signature, ...picture.map(({ whole }) => whole)]);
  if (png.length > logoBytesMax)
    return `it has ${png.length} bytes without its metadata; the limit is ${logoBytesMax}`;
  const digest = createHash('sha256').update(png).digest('hex');
  return { digest, ...size, png: png.toString('base64') };
}

function chunksOf(file: Buffer): readonly Chunk[] | string {
  const chunks: Chunk[] = [];
  for (let at = signature.length; at < file.length; ) {
    if (chunks.at(-1)?.type === 'IEND') return 'it has bytes after its end';
    if (file.length - at < frameBytes) return 'it is cut off';
    const length = file.readUInt32BE(at);
    const end = at + frameBytes + length;
    if (end > file.length) return 'it is cut off';
    const typed = file.subarray(at + lengthBytes, end - lengthBytes);
    const type = typed.toString('latin1', 0, typeBytes);
    if (!chunkTypeForm.test(type) || crc32(typed) !== file.readUInt32BE(end - lengthBytes))
      return 'it is damaged';
    // The first letter is a capital: the picture cannot be shown without this chunk.
    if (/^[A-Z]/.test(type) && !kept.includes(type)) return `it has an unknown chunk ${type}`;
    chunks.push({ type, data: typed.subarray(typeBytes), whole: file.subarray(at, end) });
    at = end;
  }
  return chunks.at(-1)?.type === 'IEND' ? chunks : 'it is cut off';
}

type Size = Pick<Logo, 'width' | 'height'>;

function sizeOf(picture: readonly Chunk[]): Size | string {
  const order = picture.map(({ type }) => type).join(' ');
  if (!/^IHDR( PLTE)?( tRNS)?( IDAT)+ IEND$/.test(order)) return 'its chunks are not in order';
  const [header] = picture;
  if (header?.data.length !== headerBytes || (picture.at(-1)?.data.length ?? 0) > 0)
    return 'it is damaged';
  const { data } = header;
  const [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
  const [depth = 0, color = 0, compression, filter, interlace] = data.subarray(8);
  const isSide = (pixels: number) => pixels >= 1 && pixels <= logoPixelsMax;
  if (!isSide(width) || !isSide(height))
    return `it has ${width} by ${height} pixels; each must be 1 to ${logoPixelsMax}`;
  const kind = colorTypes.get(color);
  if (kind?.depths.includes(depth) !== true || compression !== 0 || filter !== 0)
    return 'it has an unknown format';
  if (interlace !== 0) return 'it is interlaced: save it without interlacing';
  if (!hasGoodPalette(picture, color)) return 'its palette is wrong';
  const rowBytes = 1 + Math.ceil((width * kind.samples * depth) / 8);
  return holds(picture, rowBytes, height) ? { width, height } : 'its picture data are damaged';
}

function hasGoodPalette(picture: readonly Chunk[], color: number): boolean {
  const palette = picture.find(({ type }) => type === 'PLTE')?.data;
  if (palette === undefined) return color !== paletteType;
  const { length } = palette;
  return length > 0 && length % 3 === 0 && length <= paletteBytesMax;
}

/** Whether the data are exactly the rows of the picture. Never inflates more than those. */
function holds(picture: readonly Chunk[], rowBytes: number, height: number): boolean {
  const data = Buffer.concat(picture.filter(({ type }) => type === 'IDAT').map((one) => one.data));
  const wanted = rowBytes * height;
  try {
    const { buffer: rows, engine } = inflateSync(data, {
      maxOutputLength: wanted,
      info: true,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    if (rows.length !== wanted || engine.bytesWritten !== data.length) return false;
    for (let at = 0; at < wanted; at += rowBytes) if ((rows[at] ?? 0) > filterTypeMax) return false;
    return true;
  } catch {
    // Not zlib's format, or more than the rows.
    return false;
  }
}
