import { tcpProxy } from '@pis/local-servers/testing';

/** A proxy that can silently drop all data, like a network partition. */
export async function silenceable(target: string) {
  const state = { silent: false };
  const proxy = await tcpProxy(target, (client, upstream) => {
    client.on('data', (data) => void (state.silent || upstream.write(data)));
    upstream.on('data', (data) => void (state.silent || client.write(data)));
  });
  return Object.assign(state, proxy);
}
