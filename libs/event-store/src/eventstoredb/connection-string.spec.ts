import { parseEventStoreDbUrl } from './connection-string.js';

describe('EVENTSTOREDB_URL', () => {
  it('names a cluster: every host, with the port that EventStoreDB has by default', () => {
    const url = parseEventStoreDbUrl('esdb://pis:p%40ss%3A1@a:2114,b,c.example:2113?tls=false');
    expect(url).toMatchObject({
      hosts: [
        { host: 'a', port: 2114 },
        { host: 'b', port: 2113 },
        { host: 'c.example', port: 2113 },
      ],
      discover: false,
      credentials: { username: 'pis', password: 'p@ss:1' },
      tls: false,
    });
  });

  it('accepts everything that the client accepts', () => {
    expect(parseEventStoreDbUrl('esdb+discover://eventstore.example')).toMatchObject({
      hosts: [{ host: 'eventstore.example', port: 2113 }],
      discover: true,
      credentials: null,
      tls: true,
    });
    const settings = 'gossipTimeout=3&nodePreference=follower&keep-alive-interval=20000';
    expect(parseEventStoreDbUrl(`esdb://a/?tlsCAFile=/ca.pem&${settings}`)).toMatchObject({
      tlsCaFile: '/ca.pem',
      settings: { gossipTimeout: 3, nodePreference: 'follower', keepAliveInterval: 20_000 },
    });
  });

  it.each([
    ['a scheme that is not the client’s', 'https://pis:s3cret@a:2113'],
    ['no host', 'esdb://pis:s3cret@'],
    ['a port that is no number', 'esdb://pis:s3cret@a:port'],
    ['a setting of the wrong type', 'esdb://pis:s3cret@a?tls=maybe'],
    ['a password with an unescaped @', 'esdb://pis:p@s3cret@a'],
    ['a password with an unescaped colon', 'esdb://pis:p:s3cret@a'],
    ['a user without a password', 'esdb://s3cret@a:2113'],
    ['an empty password', 'esdb://s3cret:@a:2113'],
    ['a broken escape', 'esdb://pis:%zzs3cret@a'],
    ['a key without its certificate', 'esdb://pis:s3cret@a?userKeyFile=/key.pem'],
  ])('refuses %s without showing the credentials', (_what, text) => {
    let message = '';
    try {
      parseEventStoreDbUrl(text);
    } catch (error) {
      message = String(error);
    }
    expect(message).not.toBe('');
    expect(message).not.toContain('s3cret');
  });

  it('shows no credentials when the client warns of a setting', () => {
    const warned = captureWarnings(() =>
      parseEventStoreDbUrl('esdb://pis:s3cret@a?unknown=1&tlsVerifyCert=false'),
    );
    expect(warned).toContain('unknown');
    expect(warned).not.toContain('s3cret');
  });
});

function captureWarnings(act: () => void): string {
  const { warn } = console;
  const warned: unknown[] = [];
  console.warn = (...parts: unknown[]) => void warned.push(...parts);
  try {
    act();
  } finally {
    console.warn = warn;
  }
  return warned.join('\n');
}
