import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { chunk, pngOf, type TestPng } from '@pis/local-servers/testing';
import { logoFileBytesMax, readLogo } from './png-logo.js';

function accepted(file: Buffer) {
  const logo = readLogo(file);
  if (typeof logo === 'string') throw new Error(logo);
  return logo;
}

describe('A logo', () => {
  it('is a PNG with its size and the digest of its bytes', () => {
    const logo = accepted(pngOf({ width: 40, height: 20 }));
    expect(logo).toMatchObject({ width: 40, height: 20 });
    expect(logo.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(Buffer.from(logo.png, 'base64')).toEqual(pngOf({ width: 40, height: 20 }));
  });

  it('keeps no metadata', () => {
    const comment = chunk('tEXt', Buffer.from('Comment\0<script>alert(1)</script>'));
    const place = chunk('eXIf', Buffer.from('GPS 40.7,-74.0'));
    const animation = chunk('acTL', Buffer.alloc(8));
    const logo = accepted(pngOf({ extra: [comment, place, animation] }));
    expect(logo).toEqual(accepted(pngOf()));
  });

  it.each<[string, TestPng]>([
    ['in color', { color: 2, rows: Buffer.alloc((1 + 4 * 3) * 3) }],
    ['with transparency', { color: 6, rows: Buffer.alloc((1 + 4 * 4) * 3) }],
    ['in black and white', { depth: 1, rows: Buffer.alloc((1 + 1) * 3) }],
    ['with a palette', { color: 3, extra: [chunk('PLTE', Buffer.alloc(6))] }],
  ])('may be %s', (_what, png) => {
    expect(accepted(pngOf(png))).toMatchObject({ width: 4, height: 3 });
  });
});

const whole = pngOf();
const changed = (at: number, byte: number) => {
  const copy = Buffer.from(whole);
  copy[at] = byte;
  return copy;
};

it.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
  ['a JPEG with another name', Buffer.from([0xff, 0xd8, 0xff, 0xe0])],
  ['the signature alone', whole.subarray(0, 8)],
  ['a file that is cut off', whole.subarray(0, whole.length - 1)],
  ['a file without its end', whole.subarray(0, whole.length - 12)],
  ['HTML after its end', Buffer.concat([whole, Buffer.from('<script>alert(1)</script>')])],
  ['a second picture after its end', Buffer.concat([whole, whole])],
  ['a wrong checksum', changed(whole.length - 1, 0)],
  ['a chunk longer than the file', changed(8, 0x7f)],
  ['a chunk with a negative length', changed(8, 0xff)],
  ['an unknown critical chunk', pngOf({ extra: [chunk('EVIL')] })],
  ['a chunk with a wrong name', pngOf({ extra: [chunk('a<b>')] })],
  ['two headers', pngOf({ extra: [chunk('IHDR', Buffer.alloc(13))] })],
  ['no pixels', pngOf({ width: 0 })],
  ['too many pixels', pngOf({ width: 1_025, height: 1 })],
  ['billions of pixels', pngOf({ width: 0xffffffff, height: 0xffffffff, rows: Buffer.alloc(9) })],
  ['an unknown depth', pngOf({ depth: 3 })],
  ['an unknown color type', pngOf({ color: 5 })],
  ['interlacing', pngOf({ interlace: 1 })],
  ['no palette where one is needed', pngOf({ color: 3 })],
  ['half a color in its palette', pngOf({ color: 3, extra: [chunk('PLTE', Buffer.alloc(4))] })],
  ['too few rows', pngOf({ rows: Buffer.alloc(5) })],
  ['too many rows', pngOf({ rows: Buffer.alloc(20) })],
  ['an unknown filter', pngOf({ rows: Buffer.alloc(15, 9) })],
  ['a bomb', pngOf({ rows: Buffer.alloc(20_000_000) })],
  ['data that are no picture', pngOf({ extra: [chunk('IDAT', Buffer.from('zlib?'))] })],
  ['bytes behind its picture data', hidden()],
  ['more bytes than a logo may have', pngOf({ width: 200, height: 100, rows: noise(201 * 100) })],
  ['more bytes than are read', Buffer.alloc(logoFileBytesMax + 1)],
])('%s is no logo', (_what, file) => {
  expect(typeof readLogo(file)).toBe('string');
});

/** Rows that cannot be compressed. Every filter type is 0. */
function noise(length: number): Buffer {
  const rows = randomBytes(length);
  for (let at = 0; at < length; at += 201) rows[at] = 0;
  return rows;
}

/** A second file after the end of the compressed rows. */
function hidden(): Buffer {
  const file = pngOf();
  const data = Buffer.concat([deflateSync(Buffer.alloc(15)), Buffer.from('PK\u0003\u0004hidden')]);
  const [before, after] = [file.subarray(0, 33), file.subarray(file.length - 12)];
  return Buffer.concat([before, chunk('IDAT', data), after]);
}
