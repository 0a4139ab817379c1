/** Files that commands take. */
import { readFileSync } from 'node:fs';
import { CommandFailed } from './output.js';

/** The message names the file but not its content, which may have an account number. @throws CommandFailed */
export function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandFailed(`cannot read ${file}: ${(error as Error).message}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailed(`${file} is not JSON`);
  }
}
