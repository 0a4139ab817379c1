/**
 * Builds the dashboard's pages into `dist`: hashed assets, each with a compressed copy in Brotli and in gzip.
 * The dashboard's server puts a nonce of its own into each answer with index.html.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// A build that a test begins inherits NODE_ENV=test, and with it the React of developers, twice as large.
process.env.NODE_ENV = 'production';

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

/** What the charts use. The library looks scales up by name, so all of them, and the formats of times, would be in the bundle. */
const scales = ['scaleBand', 'scaleLinear', 'scaleLog', 'scalePoint'];

function usedScales() {
  const prefix = '\0scales:';
  return {
    name: 'used-scales',
    enforce: 'pre',
    async resolveId(id, importer) {
      if (id !== 'victory-vendor/d3-scale') return null;
      const whole = await this.resolve(id, importer, { skipSelf: true });
      if (whole === null) throw new Error(`${id} is not installed`);
      return `${prefix}${whole.id}`;
    },
    load(id) {
      if (!id.startsWith(prefix)) return null;
      const whole = JSON.stringify(id.slice(prefix.length));
      return `export { ${scales.join(', ')} } from ${whole};`;
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/dashboard/',
  cacheDir: join(import.meta.dirname, '../../.cache/vite'),
  logLevel: 'warn',
  plugins: [usedScales(), react(), compressed()],
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
    // What every page needs is one file. Each further file costs headers, and is compressed less well.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'start', tags: ['$initial'] }] } },
    },
  },
});
