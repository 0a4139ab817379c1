import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import Fastify, { type FastifyInstance } from 'fastify';
import { addWebApp, readWebApp } from './web-app.js';

const script = 'console.log(1);\n';
let folder: string;
let server: FastifyInstance;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'web-app-'));
  mkdirSync(join(folder, 'assets'));
  const page = '<script nonce="__CSP_NONCE__"></script><style nonce="__CSP_NONCE__"></style>';
  writeFileSync(join(folder, 'index.html'), page);
  writeFileSync(join(folder, 'assets/app-1a2b.js'), script);
  writeFileSync(join(folder, 'assets/app-1a2b.js.br'), brotliCompressSync(script));
  writeFileSync(join(folder, 'assets/secret.txt'), 'no media type');
  // As in the service.
  server = Fastify({ routerOptions: { ignoreTrailingSlash: true } });
  addWebApp(server, readWebApp(folder));
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function nonceOfPage(url: string): Promise<string> {
  const { statusCode, headers, payload } = await get(url);
  expect({ statusCode, type: headers['content-type'] }).toEqual({
    statusCode: 200,
    type: 'text/html; charset=utf-8',
  });
  const policy = String(headers['content-security-policy']);
  const nonce = /'nonce-([^']{20,})'/.exec(policy)?.[1] ?? '';
  expect(payload).toBe(`<script nonce="${nonce}"></script><style nonce="${nonce}"></style>`);
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
  return nonce;
}

const get = (url: string, headers: Record<string, string> = {}) => server.inject({ url, headers });

it.each(['/dashboard/', '/dashboard/sign-in', '/dashboard/payments/17?status=QUEUED'])(
  'answers %s with the start page, whose nonce is new each time',
  async (url) => {
    const nonces = [await nonceOfPage(url), await nonceOfPage(url)];
    expect(new Set(nonces).size).toBe(2);
  },
);

it('serves an asset for good, compressed where the browser can read it', async () => {
  const plain = await get('/dashboard/assets/app-1a2b.js');
  expect(plain.payload).toBe(script);
  expect(plain.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
  });
  expect(plain.headers['content-encoding']).toBeUndefined();

  const encoded = await get('/dashboard/assets/app-1a2b.js', { 'accept-encoding': 'gzip, br' });
  expect(encoded.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(encoded.rawPayload).toString()).toBe(script);

  const refused = await get('/dashboard/assets/app-1a2b.js', { 'accept-encoding': 'br;q=0, gzip' });
  expect(refused.headers['content-encoding']).toBeUndefined();
});

it.each([
  '/dashboard/assets/none.js',
  '/dashboard/assets/secret.txt',
  '/dashboard/assets/..%2findex.html',
  '/dashboard/assets/__proto__',
  '/dashboard/assets',
  '/dashboard/assets/',
  '/dashboard/assets/folder/none.js',
  '/dashboard/api',
  '/dashboard/api/none',
  '/dashboard/api?x',
])('knows no %s', async (url) => {
  expect((await get(url)).statusCode).toBe(404);
});

it('leads to the start page from the address without a slash', async () => {
  const { statusCode, headers } = await get('/dashboard');
  expect({ statusCode, location: headers.location }).toEqual({
    statusCode: 308,
    location: '/dashboard/',
  });
});

it('says so when the pages are not built', async () => {
  const bare = Fastify();
  addWebApp(bare, readWebApp(join(folder, 'none')));
  const { statusCode, payload } = await bare.inject({ url: '/dashboard/' });
  await bare.close();
  expect(statusCode).toBe(503);
  expect(payload).toContain('npm run build');
});
