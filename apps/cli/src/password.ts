/** A password that is given to a command: on stdin, because arguments are visible to everybody on the machine. */
import { CommandFailed } from './output.js';

const waitMaxMs = 10_000;
/** More than any password that is accepted. */
const lengthMax = 4_096;

/**
 * The first line on stdin. Null when stdin is a terminal, or ends without a line.
 * @throws CommandFailed when nothing comes
 */
export async function passwordOnStdin(): Promise<string | null> {
  const { stdin } = process;
  if (stdin.isTTY) return null;
  const timer = setTimeout(() => stdin.destroy(new Error('nothing came')), waitMaxMs);
  let text = '';
  try {
    stdin.setEncoding('utf8');
    for await (const chunk of stdin) {
      text += String(chunk);
      if (text.includes('\n') || text.length > lengthMax) break;
    }
  } catch (cause) {
    throw new CommandFailed(
      `no password on stdin within ${waitMaxMs / 1_000} s; close stdin to have one generated`,
      { cause },
    );
  } finally {
    clearTimeout(timer);
  }
  const [line = ''] = text.split(/\r?\n/);
  return line === '' ? null : line;
}
