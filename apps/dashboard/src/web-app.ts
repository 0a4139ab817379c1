/**
 * The dashboard's pages: what the app dashboard-web was built into, below /dashboard/. All of it is read once,
 * when the process starts. Paths that are no file are the app's own: they get its start page.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Beside this app, from `src` and from `dist`. */
const builtFolder = join(import.meta.dirname, '../../dashboard-web/dist');

const base = '/dashboard';
/** The build writes it where the nonce of an answer belongs. */
const noncePlace = '__CSP_NONCE__';
const nonceBytes = 16;
/** Names have a hash of the content. */
const immutable = 'public, max-age=31536000, immutable';

const mediaTypes = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
} as const;
/** The best first. */
const encodings = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

interface Asset {
  readonly mediaType: string;
  readonly plain: Buffer;
  readonly encoded: readonly { readonly name: string; readonly content: Buffer }[];
}

export interface WebApp {
  readonly startPage: string;
  /** By their names below assets/. */
  readonly assets: ReadonlyMap<string, Asset>;
}

/** Null when the app is not built, as in a test that runs from sources. */
export function readWebApp(folder: string = builtFolder): WebApp | null {
  const page = join(folder, 'index.html');
  if (!existsSync(page)) return null;
  const names = readdirSync(join(folder, 'assets'));
  const assets = names.flatMap((name) => {
    const mediaType = mediaTypeOf(name);
    return mediaType === undefined
      ? []
      : [[name, readAsset(join(folder, 'assets', name), mediaType)] as const];
  });
  return { startPage: readFileSync(page, 'utf8'), assets: new Map(assets) };
}

export function addWebApp(server: FastifyInstance, web: WebApp | null): void {
  const config = { publicRoute: 'dashboard' } as const;
  // The router takes both spellings for one.
  server.get(base, { config }, (request, reply) =>
    pathOf(request) === base ? reply.redirect(`${base}/`, 308) : sendStartPage(web, reply),
  );
  server.get(`${base}/assets/:name`, { config }, (request, reply) =>
    sendAsset(web?.assets.get((request.params as { name: string }).name), request, reply),
  );
  server.get(`${base}/*`, { config }, (request, reply) =>
    // An unknown path of the API is not a page, and neither is an unknown file.
    ['api', 'assets'].some((folder) => `${pathOf(request)}/`.startsWith(`${base}/${folder}/`))
      ? reply.callNotFound()
      : sendStartPage(web, reply),
  );
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? '';
}

function sendStartPage(web: WebApp | null, reply: FastifyReply): FastifyReply {
  if (web === null)
    return reply
      .status(503)
      .type('text/plain; charset=utf-8')
      .send('The pages of the dashboard are not built. Run: npm run build\n');
  const nonce = randomBytes(nonceBytes).toString('base64');
  return reply
    .headers({
      'Content-Security-Policy': contentSecurityPolicy(nonce),
      'X-Robots-Tag': 'noindex',
    })
    .type('text/html; charset=utf-8')
    .send(web.startPage.replaceAll(noncePlace, nonce));
}

/** The components make style elements, which carry the nonce. Nothing comes from another host. */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function sendAsset(
  asset: Asset | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | void {
  if (asset === undefined) return reply.callNotFound();
  const accepted = request.headers['accept-encoding'] ?? '';
  const encoded = asset.encoded.find(({ name }) => accepts(accepted, name));
  if (encoded !== undefined) reply.header('Content-Encoding', encoded.name);
  return reply
    .headers({ 'Cache-Control': immutable, Vary: 'Accept-Encoding' })
    .type(asset.mediaType)
    .send(encoded?.content ?? asset.plain);
}

/** Whether the header names this encoding, and not with `q=0`. */
function accepts(header: string | readonly string[], encoding: string): boolean {
  return String(header)
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .some(
      (part) =>
        part === encoding || (part.startsWith(`${encoding};`) && !/;\s*q=0(\.0*)?$/.test(part)),
    );
}

function mediaTypeOf(name: string): string | undefined {
  return mediaTypes[extname(name) as keyof typeof mediaTypes];
}

function readAsset(file: string, mediaType: string): Asset {
  const encoded = encodings
    .filter(({ suffix }) => existsSync(`${file}${suffix}`))
    .map(({ name, suffix }) => ({ name, content: readFileSync(`${file}${suffix}`) }));
  return { mediaType, plain: readFileSync(file), encoded };
}
