/**
 * The files that the pages load: a stylesheet, a script, an icon. Their names contain a digest of their content, so
 * browsers keep them for good. Another name of the same file is one of another release, during a rollout.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface PageAsset {
  readonly content: Buffer;
  readonly type: string;
  /** Whether the name is that of this content. */
  readonly isCurrent: boolean;
}

const types = {
  'pay.css': 'text/css; charset=utf-8',
  'pay.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;
type File = keyof typeof types;

/** The same places from the sources and from the build: `src` and `dist` are siblings. */
const places: Readonly<Record<File, URL>> = {
  'pay.css': new URL('../assets/pay.css', import.meta.url),
  'pay.js': new URL('../dist/browser/pay.js', import.meta.url),
  'icon.svg': new URL('../assets/icon.svg', import.meta.url),
};

export const builtScript = places['pay.js'];

/** The build adds a comment that names a file which is not served. */
function contentOf(place: URL): Buffer {
  const text = readFileSync(place, 'utf8');
  return Buffer.from(text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'));
}

const digestLength = 12;

const known = new Map<File, { readonly content: Buffer; readonly name: string }>();

/** `pay.css` becomes `pay.0123456789ab.css`. @throws when the build lacks the file */
export function assetName(file: File): string {
  return load(file).name;
}

/** Null for a name that no release uses. */
export function findAsset(name: string): PageAsset | null {
  const [, base, extension] = /^([a-z]+)\.[0-9a-f]{12}\.([a-z]+)$/.exec(name) ?? [];
  const file = `${base ?? ''}.${extension ?? ''}`;
  if (!isFile(file)) return null;
  const { content, name: current } = load(file);
  return { content, type: types[file], isCurrent: name === current };
}

function load(file: File) {
  const loaded = known.get(file);
  if (loaded !== undefined) return loaded;
  const content = contentOf(places[file]);
  const digest = hash('sha256', content).slice(0, digestLength);
  const entry = { content, name: file.replace('.', `.${digest}.`) };
  known.set(file, entry);
  return entry;
}

function isFile(text: string): text is File {
  return Object.hasOwn(types, text);
}
