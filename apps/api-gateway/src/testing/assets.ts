import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { builtScript } from '../scalar-script.js';

/** The files that the build adds. Tests run from sources, with or without a build. */
export function ensureAssets(): void {
  if (existsSync(builtScript)) return;
  const script = fileURLToPath(new URL('../../build-assets.mjs', import.meta.url));
  execFileSync(process.execPath, [script], { stdio: ['ignore', 'ignore', 'inherit'] });
}
