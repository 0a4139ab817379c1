/** Sends HTTP as raw bytes, without a client library. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends the text and reads until the server closes the connection. */
export async function exchange(port: number, text: string): Promise<readonly RawAnswer[]> {
  const open = openSocket(port);
  open.socket.write(text, 'latin1');
  return open.answers();
}

export interface OpenSocket {
  readonly socket: Socket;
  received(): string;
  /** Resolves when the server has closed the connection. */
  answers(): Promise<readonly RawAnswer[]>;
}

export function openSocket(port: number): OpenSocket {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => (received += chunk));
  // A connection that is cut off also ends the wait.
  socket.on('error', () => socket.destroy());
  const closed = once(socket, 'close');
  return {
    socket,
    received: () => received,
    answers: async () => {
      await closed;
      return answersIn(received);
    },
  };
}

/** All answers, in order. Each has a Content-Length. */
export function answersIn(received: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = received; rest !== ''; ) {
    const headEnd = rest.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = rest.slice(0, headEnd).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const bodyEnd = headEnd + 4 + Number(headers['content-length'] ?? 0);
    answers.push({
      status: Number(statusLine.split(' ')[1]),
      headers,
      body: rest.slice(headEnd + 4, bodyEnd),
    });
    rest = headEnd === -1 ? '' : rest.slice(bodyEnd);
  }
  return answers;
}
