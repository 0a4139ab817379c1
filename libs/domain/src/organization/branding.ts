/** How an organization appears to the people it pays and asks for money: its name and its logo. */

/** Characters. */
export const organizationNameMax = 200;
/** With a logo of this size, the page of a payment link and all its files stay below 50 KB. */
export const logoBytesMax = 16 * 1024;
/** Pixels, of width and height. */
export const logoPixelsMax = 1_024;

/** What a page needs to know of a logo. Its bytes are in the event that set it, and in the read model. */
export interface LogoRecord {
  /** SHA-256 of the file, hex. It is in the address of the picture. */
  readonly digest: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

export interface Logo extends LogoRecord {
  /** The file, base64. */
  readonly png: string;
}

export interface Branding {
  readonly name: string;
  /** Null: no logo. Absent: the logo stays as it is. */
  readonly logo?: Logo | null;
}

const digestForm = /^[0-9a-f]{64}$/;
const base64Form = /^[A-Za-z0-9+/]+={0,2}$/;
const bytesOfGroup = 3;
const charactersOfGroup = 4;

/** The sender of the command has checked it. Once written, a bad logo would be on every page. @throws RangeError */
export function assertBranding({ name, logo }: Branding): void {
  if (name.trim() === '' || name.length > organizationNameMax)
    throw new RangeError('not a name of an organization');
  if (logo === undefined || logo === null) return;
  const { digest, width, height, png } = logo;
  const isSide = (pixels: number) =>
    Number.isSafeInteger(pixels) && pixels >= 1 && pixels <= logoPixelsMax;
  const bytes = (png.length / charactersOfGroup) * bytesOfGroup;
  const isFile = base64Form.test(png) && bytes <= logoBytesMax + bytesOfGroup;
  if (!digestForm.test(digest) || !isSide(width) || !isSide(height) || !isFile)
    throw new RangeError('not a logo');
}
