/** A mail server on this machine that takes every mail, as far as RFC 5321 needs it for one. */
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body as they came. */
  readonly content: string;
}

export interface SmtpServer {
  /** smtp://127.0.0.1:port */
  readonly url: string;
  readonly mails: readonly Mail[];
  /** The commands that came, without their arguments. */
  readonly commands: readonly string[];
  /** Answers to further mails with this code; null takes them. */
  refuse: number | null;
  /** An address that it does not know. */
  unknown: string | null;
  /** An address for which it takes mail later. */
  deferred: string | null;
  close(): Promise<void>;
}

type Behavior = Pick<SmtpServer, 'refuse' | 'unknown' | 'deferred'>;

export async function startSmtpServer(): Promise<SmtpServer> {
  const mails: Mail[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const state: Behavior = { refuse: null, unknown: null, deferred: null };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    converse(socket, { mails, commands }, state);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    commands,
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
}

function converse(
  socket: Socket,
  { mails, commands }: { readonly mails: Mail[]; readonly commands: string[] },
  state: Behavior,
): void {
  let [from, to, buffered, inData]: [string, string[], string, boolean] = ['', [], '', false];
  const say = (text: string) => socket.write(`${text}\r\n`);
  const take = (line: string) => {
    const [, verb = '', rest = ''] = /^(\w+)(.*)$/.exec(line) ?? [];
    const address = /<(.*)>/.exec(rest)?.[1] ?? '';
    const { refuse: code, unknown, deferred } = state;
    commands.push(verb.toUpperCase());
    switch (verb.toUpperCase()) {
      case 'MAIL':
        [from, to] = [address, []];
        return say(code === null ? '250 ok' : `${code} not now`);
      case 'RCPT':
        if (address === unknown) return say('550 no such user');
        if (address === deferred) return say('450 greylisted');
        to.push(address);
        return say('250 ok');
      case 'DATA':
        inData = true;
        return say('354 go on');
      case 'QUIT':
        say('221 bye');
        return socket.end();
      default:
        return say('250 ok');
    }
  };
  say('220 ready');
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    buffered += chunk;
    for (;;) {
      const end = inData ? '\r\n.\r\n' : '\r\n';
      const at = buffered.indexOf(end);
      if (at === -1) return;
      const text = buffered.slice(0, at);
      buffered = buffered.slice(at + end.length);
      if (inData) {
        inData = false;
        mails.push({ from, to, content: text });
        say('250 taken');
      } else take(text);
    }
  });
}
