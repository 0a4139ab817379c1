import { addressGuard } from './address-guard.js';

const guard = addressGuard([]);

describe('A webhook is sent to publicly routable addresses only', () => {
  it.each([
    '8.8.8.8',
    '93.184.216.34',
    '172.15.0.1',
    '172.32.0.1',
    '2606:2800:220:1::1',
    '2a00::1',
  ])('%s is public', (address) => expect(guard.permits(address)).toBe(true));

  it.each([
    ['0.0.0.0', 'this host'],
    ['0.1.2.3', 'this network'],
    ['10.0.0.1', 'private'],
    ['100.64.0.1', 'shared address space'],
    ['100.100.100.200', 'a metadata address'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'a metadata address'],
    ['168.63.129.16', 'a metadata address'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.192', 'a metadata address'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', '6to4 relay'],
    ['192.168.1.1', 'private'],
    ['198.18.0.1', 'benchmarking'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::7f00:1', 'IPv4-compatible'],
    ['100::1', 'discard'],
    ['2001::1', 'Teredo'],
    ['2001:db8::1', 'documentation'],
    ['3fff::1', 'documentation'],
    ['4000::1', 'not assigned'],
    ['5f00::1', 'segment routing'],
    ['64:ff9b:1::1', 'local NAT64'],
    ['fc00::1', 'unique local'],
    ['fd00:ec2::254', 'a metadata address'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local with a zone'],
    ['fec0::1', 'site-local'],
    ['ff02::1', 'multicast'],
  ])('%s is blocked: %s', (address) => expect(guard.permits(address)).toBe(false));

  it.each([
    ['::ffff:127.0.0.1', '::ffff:8.8.8.8'],
    ['::ffff:0:169.254.169.254', '::ffff:0:8.8.8.8'],
    ['64:ff9b::10.0.0.1', '64:ff9b::8.8.8.8'],
    ['2002:7f00:1::1', '2002:808:808::1'],
  ])('%s is checked by its embedded IPv4 address, like %s', (inner, outer) => {
    expect(guard.permits(inner)).toBe(false);
    expect(guard.permits(outer)).toBe(true);
  });

  it('blocks text that is not an address', () => {
    for (const text of ['', 'localhost', '1.2.3.4.5', '12345::', '8.8.8.8 '])
      expect(guard.permits(text)).toBe(false);
  });
});

describe('The operator may exempt networks', () => {
  const exempting = addressGuard(['127.0.0.0/8', 'fd00::/8']);

  it.each(['127.0.0.1', '127.8.0.1', '::ffff:127.0.0.1', 'fd12::1'])(
    '%s is permitted then',
    (a) => {
      expect(exempting.permits(a)).toBe(true);
      expect(exempting.exempts(a)).toBe(true);
    },
  );

  it.each(['10.0.0.1', '::1', '169.254.169.254', 'fc00::1'])('%s stays blocked', (a) => {
    expect(exempting.permits(a)).toBe(false);
  });

  it('a public address neither needs nor counts as an exemption', () => {
    expect(exempting.permits('8.8.8.8')).toBe(true);
    expect(exempting.exempts('8.8.8.8')).toBe(false);
  });
});
