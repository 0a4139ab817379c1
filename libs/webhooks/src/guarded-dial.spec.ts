/** What a connection does with the signal that cancels it. */
import { getEventListeners } from 'node:events';
import { type HttpsReceiver, startHttpsReceiver } from '@pis/local-servers/testing';
import { AddressBlocked, ConnectTimeout } from './dial-errors.js';
import { egressPolicy } from './egress-policy.js';
import { type Dial, guardedDial } from './guarded-dial.js';
import type { Lookup } from './lookup.js';
import { trustedAuthorities } from './trusted-authorities.js';

const timeoutMs = 20_000;
let receiver: HttpsReceiver;

beforeEach(async () => {
  receiver = await startHttpsReceiver({ hosts: ['hooks.example'] });
});
afterEach(() => receiver.close());

const here: Lookup = () => Promise.resolve(['127.0.0.1']);
const never: Lookup = () => new Promise(() => undefined);

function dialing(lookup: Lookup, changes: { timeoutMs?: number; allowed?: string[] } = {}): Dial {
  const { allowed: allowedNetworks = ['127.0.0.0/8'] } = changes;
  return guardedDial({
    policy: egressPolicy({ allowedNetworks }, lookup),
    ...{ lookup, timeoutMs: changes.timeoutMs ?? timeoutMs },
    trusted: trustedAuthorities(receiver.caPem),
  });
}

const target = () => ({
  hostname: 'hooks.example',
  ...{ host: `hooks.example:${receiver.port}`, protocol: 'https:', port: `${receiver.port}` },
});

it('leaves nothing behind on its signal, whether it succeeds or fails', async () => {
  const { any } = AbortSignal;
  let made = 0;
  AbortSignal.any = (signals) => {
    made += 1;
    return any.call(AbortSignal, signals);
  };
  const { signal } = new AbortController();
  try {
    const socket = await dialing(here)(target(), signal);
    socket.destroy();
    const blocked = dialing(here, { allowed: [] })(target(), signal);
    await expect(blocked).rejects.toThrow(AddressBlocked);
    const late = dialing(never, { timeoutMs: 1 })(target(), signal);
    await expect(late).rejects.toThrow(ConnectTimeout);
  } finally {
    AbortSignal.any = any;
  }
  expect({ made, listeners: getEventListeners(signal, 'abort') }).toEqual({
    made: 0,
    listeners: [],
  });
});

it('ends with the reason of its signal, also one that was aborted before', async () => {
  const ending = new AbortController();
  const dialed = dialing(never)(target(), ending.signal);
  ending.abort(new Error('the client is closed'));
  await expect(dialed).rejects.toThrow('the client is closed');
  await expect(dialing(never)(target(), ending.signal)).rejects.toThrow('the client is closed');
});
