import { inNetworks } from './forwarded.js';

const isProxy = inNetworks(['10.0.0.0/8', '2001:db8::/32', 'fe80::/10']);

it.each([
  ['10.1.2.3', true],
  ['10.1.2.3:443', true],
  ['::ffff:10.1.2.3', true],
  ['[2001:db8::1]:443', true],
  ['fe80::1%eth0', true],
  ['11.0.0.1', false],
  ['11.0.0.1:443', false],
  ['2001:db9::1', false],
  ['unknown', false],
  ['', false],
  // An ended connection has no address.
  [undefined, false],
])('%s is one of the trusted proxies: %s', (address, expected) => {
  expect(isProxy(address)).toBe(expected);
});

it('no proxy is trusted unless it is named', () => {
  expect(inNetworks([])('127.0.0.1')).toBe(false);
});
