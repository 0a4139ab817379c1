/** Attacks on the dashboard and the pages of links over HTTP: guessed tokens and paths. */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import { requestedLink } from './support/requested-link.js';

const limitMs = 240_000;

describe('Attacks on the dashboard over HTTP', () => {
  let scenario: DashboardScenario;
  beforeAll(async () => {
    scenario = await startDashboard();
  }, limitMs);
  afterAll(() => scenario?.close());
  const requested = () => requestedLink(scenario);

  it(
    'a guessed token of a link is answered as one that was canceled, and guessing is limited',
    async () => {
      const canceled = await requested();
      const operator = await scenario.client('operator');
      await operator.data('POST', `/payments/${canceled.paymentId}/cancel`);
      const answerTo = async (token: string, suffix = '') => {
        const answer = await fetch(`${scenario.system.pagesUrl}/pay/${token}${suffix}`);
        const { 'x-request-id': _id, date: _date, ...headers } = Object.fromEntries(answer.headers);
        return { status: answer.status, headers, text: await answer.text() };
      };
      const random = () => randomBytes(32).toString('base64url');
      const expected = await answerTo(new URL(canceled.url).pathname.slice('/pay/'.length));
      expect(expected.status).toBe(404);
      expect(expected.headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      });
      const { pathname } = new URL((await requested()).url);
      const right = pathname.slice('/pay/'.length);
      const nearly = `${right.slice(0, -2)}${right.at(-2) === 'A' ? 'Q' : 'A'}${right.at(-1)}`;
      for (const token of [random(), random(), nearly, right.slice(0, 42), `${right}A`])
        expect(await answerTo(token)).toEqual(expected);
      expect((await answerTo(random(), '/status')).status).toBe(404);
      expect((await answerTo(random(), '/bank?routingNumber=021000021')).status).toBe(404);

      const guesses = await Promise.all(Array.from({ length: 300 }, () => answerTo(random())));
      const statuses = guesses.map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([404, 429]));
      const refused = guesses.find(({ status }) => status === 429);
      expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
    },
    limitMs,
  );

  it.each([
    '/dashboard/assets/../../../../../../etc/passwd',
    '/dashboard/assets/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd',
    '/dashboard/assets/%2e%2e/%2e%2e/package.json',
    '/dashboard/assets/..\\..\\package.json',
    '/dashboard/assets/..%5c..%5cpackage.json',
    '/dashboard/assets/%252e%252e%252fpackage.json',
    '/dashboard/assets/index.js%00.css',
    '/dashboard/assets//etc/passwd',
    '/pay/assets/..%2f..%2fpackage.json',
    '/pay/assets/../../../../etc/passwd',
  ])('no path leads to a file beside the pages: %s', async (path) => {
    const answer = await rawGet(scenario.origin, path);
    expect(answer).toMatch(/^HTTP\/1\.1 (400|404) /);
    expect(answer).not.toMatch(/root:|"version":/);
  });
});

/** The answer to a path as it is written here. Clients would shorten it. */
function rawGet(origin: string, path: string): Promise<string> {
  const { hostname, port, host } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('end', () => resolve(Buffer.concat(chunks).toString()));
    socket.end(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  });
}
