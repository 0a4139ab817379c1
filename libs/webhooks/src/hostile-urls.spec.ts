/**
 * Known attacks on senders of webhooks, in one table. They are refused when the endpoint is created and,
 * where the answer of a name server decides, again at the connection.
 */
import { guardedClient } from './guarded-client.js';
import { type Lookup } from './lookup.js';
import { checkWebhookUrl } from './webhook-url.js';

/** Never connected to: a test that would connect gets an unknown host. */
const publicAddress = '93.184.216.34';
const publicHost: Lookup = () => Promise.resolve([publicAddress]);
const unknownHost: Lookup = () => Promise.reject(new Error('no such host'));

async function connectionTo(url: string, lookup: Lookup): Promise<string | undefined> {
  const client = guardedClient({
    allowedNetworks: [],
    lookup,
    timeoutMs: 1_000,
    connectionsPerOriginMax: 1,
  });
  try {
    return (await client.post(url, {}, '{}')).error?.code;
  } finally {
    await client.close();
  }
}

const notUrls = [
  '',
  ' ',
  'example.com',
  '//example.com/hook',
  'https:',
  'https://',
  'https:///',
  'https://?x',
  'https://#x',
  'https:// example.com/',
  'https://exa mple.com/',
  'https://example.com/a b',
  ' https://example.com/',
  'https://example.com/\n',
  'https://exa\tmple.com/',
  'https://example.com/\r\nX-Injected: 1',
  'https://example.com/\u0000',
  'https://example.com\u007f/',
  'https://example.com:65536/',
  'https://example.com:-1/',
  'https://example.com:0/',
  'https://example.com:80a/',
  'https://1.2.3.4.5/',
  'https://256.1.1.1/',
  'https://0x100000000/',
  'https://127.0.0.1.0x/',
  'https://[::1/',
  'https://[::g]/',
  'https://[1:2:3:4:5:6:7:8:9]/',
  'https://[fe80::1%25eth0]/',
  'https://[fe80::1%eth0]/',
  'https://[127.0.0.1]/',
  'https://exa<mple.com/',
  'https://exa%00mple.com/',
  'https://exa%2fmple.com/',
  'https://xn--/',
];

const otherSchemes = [
  'http://example.com/',
  'HTTP://example.com/',
  'http://127.0.0.1/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:6379/_FLUSHALL',
  'javascript:alert(1)',
  'data:text/plain,hello',
  'ws://example.com/',
  'wss://example.com/',
  'jar:https://example.com!/',
  'unix:/var/run/docker.sock',
  'postgres://127.0.0.1/pis',
];

const withCredentials = [
  'https://user@example.com/',
  'https://user:pass@example.com/', // secretlint-disable-line
  'https://:pass@example.com/',
  'https://@example.com/',
  'https://:@example.com/',
  'https://example.com@127.0.0.1/',
  'https://example.com%40@127.0.0.1/',
  'https://example.com:443@169.254.169.254/',
  'https://%75ser@example.com/',
  'https:\\\\user@example.com/',
];

/** The parser sees an address in each. All are checked without a name server. */
const addresses = [
  // This machine, in all its spellings.
  'https://127.0.0.1/',
  'https://127.0.0.1:8443/hook',
  'https://127.0.0.1./',
  'https://127.1/',
  'https://127.0.1/',
  'https://127.255.255.254/',
  'https://2130706433/',
  'https://017700000001/',
  'https://0177.0.0.1/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0X7F.1/',
  'https://0x7f.0x0.0x0.0x1/',
  'https://00000177.0.0.1/',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://127%2e0%2e0%2e1/',
  'https:127.0.0.1/',
  'https:\\\\127.0.0.1\\',
  'https://0/',
  'https://0.0.0.0/',
  'https://0.0.0.0:443/',
  'https://0x0/',
  'https://[::]/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[0000:0000:0000:0000:0000:0000:0000:0001]:443/',
  // IPv4 inside IPv6.
  'https://[::127.0.0.1]/',
  'https://[::7f00:1]/',
  'https://[::8.8.8.8]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[0:0:0:0:0:FFFF:127.0.0.1]/',
  'https://[::ffff:0:127.0.0.1]/',
  'https://[::ffff:169.254.169.254]/',
  'https://[64:ff9b::127.0.0.1]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[64:ff9b::10.0.0.1]/',
  'https://[64:ff9b:1::10.0.0.1]/',
  'https://[64:ff9b:1:fffe::8.8.8.8]/',
  'https://[2002:7f00:1::]/',
  'https://[2002:a9fe:a9fe::1]/',
  'https://[2002:a00:1::1]/',
  'https://[2001::1]/',
  'https://[2001:0:7f00:1::f5ff:fffe]/',
  'https://[2600::5efe:7f00:1]/',
  'https://[2600::200:5efe:a9fe:a9fe]/',
  // Metadata services of clouds.
  'https://169.254.169.254/latest/meta-data/',
  'https://2852039166/',
  'https://0xa9fea9fe/',
  'https://0251.0376.0251.0376/',
  'https://169.254.170.2/v2/credentials',
  'https://[fd00:ec2::254]/latest/meta-data/',
  'https://[fd20:ce::254]/computeMetadata/v1/',
  'https://100.100.100.200/latest/meta-data/',
  'https://192.0.0.192/latest/',
  'https://168.63.129.16/machine',
  // Private, shared, local.
  'https://10.0.0.1/',
  'https://10.255.255.255/',
  'https://172.16.0.1/',
  'https://172.31.255.254/',
  'https://192.168.0.1/',
  'https://192.168.1.1.:8443/',
  'https://100.64.0.1/',
  'https://100.127.255.254/',
  'https://169.254.0.1/',
  'https://[fc00::1]/',
  'https://[fdff::1]/',
  'https://[fe80::1]/',
  'https://[febf::1]/',
  'https://[fec0::1]/',
  // Reserved, benchmark, broadcast and multicast addresses.
  'https://0.1.2.3/',
  'https://192.0.2.1/',
  'https://198.51.100.7/',
  'https://203.0.113.7/',
  'https://198.18.0.1/',
  'https://198.19.255.254/',
  'https://192.88.99.1/',
  'https://224.0.0.1/',
  'https://239.255.255.250:1900/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://4294967295/',
  'https://[100::1]/',
  'https://[2001:db8::1]/',
  'https://[3fff::1]/',
  'https://[4000::1]/',
  'https://[5f00::1]/',
  'https://[ff02::1]/',
  'https://[ff0e::1]/',
];

/** RFC 6761, whatever the name server says. */
const loopbackNames = [
  'https://localhost/',
  'https://LOCALHOST:443/',
  'https://localhost./',
  'https://api.localhost/',
  'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/',
  'https://local%68ost/',
];

/** They resolve only inside a private network, if at all. */
const localNames = [
  'https://postgres/',
  'https://kafka:9092/',
  'https://metadata/',
  'https://metadata.google.internal/computeMetadata/v1/',
  'https://kubernetes.default.svc.cluster.local/',
  'https://printer.local./',
  'https://db.localdomain/',
  'https://router.home.arpa/',
];

/** Answers that an untrusted name server may give for an ordinary name. */
const answers: [string, string[]][] = [
  ['a private address', ['10.0.0.1']],
  ['this machine', ['127.0.0.1']],
  ['this machine by IPv6', ['::1']],
  ['this host', ['0.0.0.0']],
  ['a metadata address', ['169.254.169.254']],
  ['a metadata address inside IPv6', ['::ffff:169.254.169.254']],
  ['a metadata address behind NAT64', ['64:ff9b::a9fe:a9fe']],
  ['a link-local address with a zone', ['fe80::1%eth0']],
  ['an address in octal', ['0177.0.0.1']],
  ['several private ones', ['10.0.0.1', '192.168.0.1', 'fd00::1']],
  ['no address at all', ['localhost']],
  ['text', ['169.254.169.254#']],
];

it('There are more than eighty of them', () => {
  const tables = [notUrls, otherSchemes, withCredentials, addresses, loopbackNames, localNames];
  const all = new Set(tables.flat());
  expect(all.size).toBe(tables.flat().length);
  expect(all.size).toBeGreaterThan(80);
});

describe('An endpoint is not created', () => {
  const check = (url: string, lookup: Lookup) =>
    checkWebhookUrl(url, { allowedNetworks: [], lookup });

  it.each(notUrls)('for %j, which is not a URL', async (url) => {
    expect(await check(url, publicHost)).toBe('validation_url');
  });

  it.each(otherSchemes)('for %j: HTTPS only', async (url) => {
    expect(await check(url, publicHost)).toBe('validation_url_https');
  });

  it.each(withCredentials)('for %j, which holds credentials', async (url) => {
    expect(await check(url, publicHost)).toBe('validation_url_credentials');
  });

  it.each([...addresses, ...loopbackNames])(
    'for %j, which is not the address of a public host',
    async (url) => {
      expect(await check(url, publicHost)).toBe('validation_url_private_address');
    },
  );

  it.each(localNames)('for %j, which is not the name of a public host', async (url) => {
    expect(await check(url, unknownHost)).toBe('validation_url_private_address');
  });

  it.each(answers)('for a name that resolves to %s', async (_what, found) => {
    const lookup: Lookup = () => Promise.resolve(found);
    expect(await check('https://hooks.example/', lookup)).toBe('validation_url_private_address');
    const mixed: Lookup = () => Promise.resolve([publicAddress, ...found]);
    expect(await check('https://hooks.example/', mixed)).toBe('validation_url_private_address');
  });
});

describe('No connection is made', () => {
  it.each([...addresses, ...loopbackNames])('to %j', async (url) => {
    expect(await connectionTo(url, unknownHost)).toBe('address_blocked');
  });

  it.each(answers)('to a name that resolves to %s by now', async (_what, found) => {
    const lookup: Lookup = () => Promise.resolve(found);
    expect(await connectionTo('https://hooks.example/', lookup)).toBe('address_blocked');
  });

  it.each(otherSchemes)('to %j', async (url) => {
    expect(await connectionTo(url, unknownHost)).toBe('invalid_url');
  });
});

describe('An endpoint is created', () => {
  it.each([
    'https://example.com',
    'https://example.com/hook?a=b#c',
    'https://EXAMPLE.com/hook',
    'https://example.com:8443/',
    'https://example.com:444/a@b',
    'https://example.com/?next=https://user@127.0.0.1/',
    'https://example.com./hook',
    'https://hooks.a-b.co.uk/x',
    'https://bücher.example/',
    'https://xn--bcher-kva.example/',
    'https://localhost.example.com/',
    'https://not-localhost.example/',
    'https://127.0.0.1.nip.example/',
    'https://10.example/',
    'https://internal.example/',
    'https://8.8.8.8/hook',
    'https://134744072/',
    'https://172.15.0.1/',
    'https://172.32.0.1/',
    'https://100.63.255.255/',
    'https://100.128.0.1/',
    'https://[2606:2800:220:1::1]/hook',
    'https://[::ffff:8.8.8.8]/',
    'https://[64:ff9b::8.8.8.8]/',
  ])('for %j', async (url) => {
    expect(await checkWebhookUrl(url, { allowedNetworks: [], lookup: publicHost })).toBeNull();
  });

  it('for a name that does not resolve yet', async () => {
    const rules = { allowedNetworks: [], lookup: unknownHost };
    expect(await checkWebhookUrl('https://new.example/', rules)).toBeNull();
  });

  it('for a local name that resolves into a network the operator exempts', async () => {
    const lookup: Lookup = () => Promise.resolve(['172.18.0.5']);
    const rules = { allowedNetworks: ['172.18.0.0/16'], lookup };
    expect(await checkWebhookUrl('https://receiver/', rules)).toBeNull();
  });
});
