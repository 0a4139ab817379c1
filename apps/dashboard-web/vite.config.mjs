/**
 * Builds the dashboard's pages into `dist`: hashed assets, each with a compressed copy in Brotli and in gzip.
 * The dashboard's server puts a nonce of its own into each answer with index.html.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const outDir = join(import.meta.dirname, 'dist');

function compressed() {
  return {
    name: 'compressed-assets',
    apply: 'build',
    closeBundle() {
      const folder = join(outDir, 'assets');
      for (const name of readdirSync(folder).filter((one) => /\.(js|css|svg)$/.test(one))) {
        const content = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/dashboard/',
  cacheDir: join(import.meta.dirname, '../../.cache/vite'),
  logLevel: 'warn',
  plugins: [react(), compressed()],
  // The server replaces it.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2023',
    // The first that know light-dark().
    cssTarget: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    // No data: URLs: the content security policy names this host alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
