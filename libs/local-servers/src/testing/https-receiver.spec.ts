import { request } from 'node:https';
import { startHttpsReceiver, type HttpsReceiver } from './https-receiver.js';

interface Answer {
  status: number;
  location: string | undefined;
  body: string;
}

function post(url: string, ca: string | undefined, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', ca, headers: { 'x-a': 'b' } }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        const { statusCode = 0, headers } = response;
        resolve({ status: statusCode, location: headers.location, body: text });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('an HTTPS receiver', () => {
  let receiver: HttpsReceiver;
  beforeEach(async () => {
    receiver = await startHttpsReceiver();
  });
  afterEach(() => receiver.close());

  it('records requests of a client that trusts its authority', async () => {
    const answer = await post(`${receiver.url}/hooks?x=1`, receiver.caPem, '{"ä": 1 }');
    expect(answer.status).toBe(200);
    expect(receiver.requests).toMatchObject([
      { method: 'POST', path: '/hooks?x=1', body: '{"ä": 1 }', headers: { 'x-a': 'b' } },
    ]);
    const byAddress = `https://127.0.0.1:${receiver.port}/`;
    expect((await post(byAddress, receiver.caPem, '')).status).toBe(200);
  });

  it('is refused by a client that does not', async () => {
    await expect(post(receiver.url, undefined, '')).rejects.toThrow(/certificate/);
    expect(receiver.requests).toHaveLength(0);
  });

  it('answers as the test says, request by request', async () => {
    receiver.respondWith((_request, index) =>
      index === 0
        ? { status: 503, body: 'later', delayMs: 5 }
        : index === 1
          ? { redirect: 'https://example.com/' }
          : { cut: true },
    );
    expect(await post(receiver.url, receiver.caPem, '')).toMatchObject({
      status: 503,
      body: 'later',
    });
    expect(await post(receiver.url, receiver.caPem, '')).toMatchObject({
      status: 302,
      location: 'https://example.com/',
    });
    await expect(post(receiver.url, receiver.caPem, '')).rejects.toThrow(/hang up|ECONNRESET/);
  });

  it('lets a test wait for a request, also for one that is never answered', async () => {
    receiver.respondWith(() => ({ hang: true }));
    const unanswered = expect(post(receiver.url, receiver.caPem, 'slow')).rejects.toThrow();
    const seen = await receiver.waitFor((received) => received.body === 'slow');
    expect(seen.receivedAt).toBeInstanceOf(Date);
    await expect(receiver.waitFor(() => false, { timeoutMs: 10 })).rejects.toThrow(/not within/);
    await receiver.close();
    await unanswered;
  });
});
