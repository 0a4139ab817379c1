import { tcpProxy } from '@pis/local-servers/testing';

const notification = 'A'.charCodeAt(0);
const ready = 'Z'.charCodeAt(0);
const headerBytes = 5;

/**
 * A proxy that is to a listening client what a pooler of transactions is: the server's session is only there while a
 * statement of the client is under way, and what the session hears otherwise reaches nobody.
 */
export async function poolerOfTransactions(target: string) {
  const state = { dropped: 0 };
  const proxy = await tcpProxy(target, (client, upstream) => {
    let isUnderWay = true;
    let rest = Buffer.alloc(0);
    client.on('data', (data) => {
      isUnderWay = true;
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= headerBytes && rest.length >= 1 + rest.readUInt32BE(1)) {
        const message = rest.subarray(0, 1 + rest.readUInt32BE(1));
        rest = rest.subarray(message.length);
        if (message[0] === notification && !isUnderWay) state.dropped += 1;
        else client.write(message);
        if (message[0] === ready) isUnderWay = false;
      }
    });
  });
  return Object.assign(state, proxy);
}
