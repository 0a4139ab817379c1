/**
 * A page of somebody else, for attacks on the dashboard and the pages of links. It has two addresses: `url` is another
 * site to a browser, `neighborUrl` only another origin. A browser sends SameSite=Strict cookies along with requests
 * from the neighbor.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';

export interface ForeignSite {
  readonly url: string;
  readonly neighborUrl: string;
  /** The headers of all requests so far. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  close(): Promise<void>;
}

export async function startForeignSite(): Promise<ForeignSite> {
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    requests.push({ path: url, headers });
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end('<!doctype html><title>Somebody else</title><h1>Somebody else</h1>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://localhost:${address.port}`,
    neighborUrl: `http://127.0.0.1:${address.port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/* Functions in a page, as text: the names of a browser are unknown here. */

/** A fetch that a browser sends without asking, one that it asks the server about first, and a form. */
export const attack = `async (attacks) => {
  // They stay: a browser may say nothing about the answer to a frame that is gone.
  const frames = [];
  for (const { url, method, body } of attacks) {
    const cookies = { credentials: 'include', body };
    const headers = { 'content-type': 'application/json', 'x-pis-dashboard': '1' };
    await fetch(url, { ...cookies, method, mode: 'cors', headers }).catch(() => undefined);
    if (method !== 'POST') continue;
    await fetch(url, { ...cookies, method, mode: 'no-cors' }).catch(() => undefined);
    // A name that comes later is no target.
    const target = 'target' + frames.length;
    const frame = Object.assign(document.createElement('iframe'), { name: target });
    frames.push(document.body.appendChild(frame));
    const form = document.body.appendChild(document.createElement('form'));
    Object.assign(form, { action: url, method: 'post', enctype: 'text/plain', target });
    const field = form.appendChild(document.createElement('input'));
    // The text of the form is JSON.
    [field.name, field.value] = [body.slice(0, -1) + ',"x":"', '"}'];
    await new Promise((done) => {
      frame.addEventListener('load', done, { once: true });
      form.submit();
    });
    form.remove();
  }
}`;

/** In the page of an attacker: posts a form as a whole page. */
export const submitForm = `({ action, fields }) => {
  const form = document.body.appendChild(document.createElement('form'));
  Object.assign(form, { action, method: 'post' });
  for (const [name, value] of Object.entries(fields)) {
    const field = form.appendChild(document.createElement('input'));
    Object.assign(field, { name, value });
  }
  form.submit();
}`;

/** In a page of ours: follows a link to another site. */
export const followLink = `({ href }) => {
  const link = document.body.appendChild(document.createElement('a'));
  Object.assign(link, { href, textContent: 'elsewhere' });
  link.click();
}`;
