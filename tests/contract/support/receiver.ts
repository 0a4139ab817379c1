/** A receiver behind somebody else's TLS: what `@pis/local-servers/testing` has, in plain HTTP. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { HttpsReceiver, ReceivedRequest, ReceiverAnswer } from '@pis/local-servers/testing';

export type Receiver = Pick<HttpsReceiver, 'url' | 'requests' | 'respondWith' | 'close'>;

/** `url` is where the service finds it, `port` where it listens on this machine. */
export async function plainReceiver(url: string, port: number): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  let respond: (request: ReceivedRequest, index: number) => ReceiverAnswer = () => ({});
  const server = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      const { method = '', url: path = '', headers } = incoming;
      const request = { method, path, headers, body, receivedAt: new Date() };
      const answer = respond(request, requests.push(request) - 1);
      if (answer.hang) return;
      if (answer.cut) {
        response.destroy();
        return;
      }
      const redirect = answer.redirect === undefined ? {} : { location: answer.redirect };
      const status = answer.status ?? (answer.redirect === undefined ? 200 : 302);
      response.writeHead(status, { ...answer.headers, ...redirect }).end(answer.body ?? '');
    });
  });
  server.listen(port);
  await once(server, 'listening');
  return {
    url,
    requests,
    respondWith: (fn) => void (respond = fn),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
