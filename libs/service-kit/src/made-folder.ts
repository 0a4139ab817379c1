import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { ConfigurationError } from './config.js';

/**
 * Makes a folder with its parents, unless it is there. Not with `recursive: true`: where the system lets nobody make folders, as below
 * /proc, Node's mkdir never returns.
 * @param variable which names the folder, for the message
 * @throws ConfigurationError
 */
export function makeFolder(variable: string, folder: string, mode = 0o777): void {
  try {
    make(path.resolve(folder), mode);
  } catch (error) {
    throw new ConfigurationError([
      `${variable}: cannot make the folder: ${(error as Error).message}`,
    ]);
  }
}

function make(folder: string, mode: number): void {
  const parent = path.dirname(folder);
  if (parent !== folder && !isThere(parent)) make(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (!isThere(folder) || !statSync(folder).isDirectory()) throw error;
  }
}

function isThere(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false }) !== undefined;
}
