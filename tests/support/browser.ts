/**
 * A real browser: the Chromium on this machine, under one of its usual names. First its build without windows, in which
 * a new page takes less than half of the CPU time.
 */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const names = [
  ...['chromium-headless-shell', 'chromium', 'chromium-browser'],
  ...['google-chrome-stable', 'google-chrome'],
];

/** Null if there is none. Tests of pages are then skipped. */
export const browserPath = (process.env['PATH'] ?? '')
  .split(path.delimiter)
  .flatMap((folder) => names.map((name) => path.join(folder, name)))
  .find(isExecutable);

/** Like `describe`, and skipped where no Chromium is installed. */
export function describeInBrowser(name: string, body: () => void): void {
  const run = browserPath === undefined ? describe.skip : describe;
  run(`${name} (skipped where no Chromium is installed)`, body);
}

/** @throws if there is no browser or it does not start */
export async function openBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new Error('no browser on this machine');
  // Chromium's own sandbox refuses to run as root.
  return chromium.launch({
    executablePath: browserPath,
    chromiumSandbox: process.getuid?.() !== 0,
  });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
