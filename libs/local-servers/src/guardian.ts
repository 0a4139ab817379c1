/**
 * Keeps a server from outliving the Node process that started it, however that process ends.
 *
 * A small shell runs outside (in its own session, adopted by init, so that neither a Ctrl-C nor a kill of
 * the whole process tree reaches it). It reads commands from a pipe. Only the Node process holds the other
 * end. At the end of the pipe, which also comes after SIGKILL, the shell stops what it started. Starting
 * and stopping happen in this one process, one after the other, so a start that is under way can always be
 * undone.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Duplex, Readable } from 'node:stream';

/** How the server is run: the shell functions start and stop, called with the words of a command. */
export interface GuardianScript {
  /** Defines `start` and `stop` (safe to call when nothing runs). Their exit code and the variable `reply` are the answer. */
  functions: string;
  /** Environment variables that the functions use: paths go here, not into their text. */
  variables: Readonly<Record<string, string>>;
  /** A program and arguments that the shell is run through (setpriv), and the user to run it as. */
  launcher: readonly string[];
  uid?: number;
  gid?: number;
  env: NodeJS.ProcessEnv;
}

export interface Guardian {
  readonly pid: number;
  /** Runs one of the functions; words must hold no spaces. */
  run(command: 'start' | 'stop', ...words: readonly string[]): Promise<Answer>;
  /** Stops what was started, and ends. */
  end(): Promise<void>;
}

export interface Answer {
  code: number;
  reply: string;
}

/** The guardian itself ended: killed by hand, or because memory ran out. */
export class GuardianGone extends Error {
  override readonly name = 'GuardianGone';
}

const loop = `
started=no
finish() { [ "$started" = yes ] && stop >/dev/null 2>&1 3<&-; exit 0; }
trap '' PIPE
trap finish HUP INT TERM
echo "guardian $$"
while read -r command words <&3; do
  [ "$command" = start ] && started=yes
  reply=
  $command $words >/dev/null 2>&1 3<&-
  echo "answer $? $reply"
done
finish
`;

export async function startGuardian(script: GuardianScript): Promise<Guardian> {
  const body = `${script.functions}\n${loop}`;
  // The outer shell ends at once: its child is adopted by init.
  const outer = 'sh -c "$GUARDIAN_BODY" guardian 3<&3 &';
  const [program = 'sh', ...args] = [...script.launcher, 'sh', '-c', outer];
  const child = spawn(program, args, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    env: { ...script.env, ...script.variables, GUARDIAN_BODY: body },
    ...(script.uid === undefined ? {} : { uid: script.uid }),
    ...(script.gid === undefined ? {} : { gid: script.gid }),
  });
  return connect(child);
}

async function connect(child: ChildProcess): Promise<Guardian> {
  const pipe = child.stdio[3] as Duplex;
  const output = child.stdout as Readable & { ref?(): void; unref?(): void };
  const lines = createInterface({ input: output });
  const waiting: ((line: string | null) => void)[] = [];
  const unread: string[] = [];
  let closed = false;
  lines.on('line', (line) => {
    const next = waiting.shift();
    if (next) next(line);
    else unread.push(line);
  });
  lines.on('close', () => {
    closed = true;
    for (const next of waiting.splice(0)) next(null);
  });
  // Writing to an ended guardian is answered by the closed output.
  pipe.on('error', () => undefined);

  const nextLine = async (): Promise<string> => {
    const early = unread.shift();
    if (early !== undefined) return early;
    if (closed) throw new GuardianGone('the process that watches over the server has gone');
    hold(child, output, pipe, true);
    const line = await new Promise<string | null>((resolve) => waiting.push(resolve));
    hold(child, output, pipe, false);
    if (line === null) throw new GuardianGone('the process that watches over the server has gone');
    return line;
  };

  const spawnFailed = once(child, 'error').then(([error]) => Promise.reject(error as Error));
  const greeting = await Promise.race([nextLine(), spawnFailed]);
  const pid = Number(greeting.split(' ')[1]);

  let queue: Promise<unknown> = Promise.resolve();
  return {
    pid,
    run(command, ...words) {
      const answer = queue.then(async () => {
        pipe.write(`${[command, ...words].join(' ')}\n`);
        const [, code, ...reply] = (await nextLine()).split(' ');
        return { code: Number(code), reply: reply.join(' ') };
      });
      queue = answer.catch(() => undefined);
      return answer;
    },
    async end() {
      await queue;
      if (closed) return;
      const gone = once(lines, 'close');
      hold(child, output, pipe, true);
      pipe.end();
      await gone;
      hold(child, output, pipe, false);
    },
  };
}

/** The guardian keeps the Node process alive only while an answer is awaited. */
function hold(
  child: ChildProcess,
  output: { ref?(): void; unref?(): void },
  pipe: Duplex & { ref?(): void; unref?(): void },
  keep: boolean,
): void {
  if (keep) {
    output.ref?.();
    pipe.ref?.();
  } else {
    child.unref();
    output.unref?.();
    pipe.unref?.();
  }
}
