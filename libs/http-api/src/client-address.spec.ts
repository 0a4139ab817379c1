import { networkOf, siteOf } from './client-address.js';

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.33', '64:ff9b:0:0::/64'],
  ['1:2:3::192.0.2.33', '1:2:3:0::/64'],
  ['203.0.113.7:50123', '203.0.113.7'],
  [' 203.0.113.7:50124 ', '203.0.113.7'],
  ['[2001:db8:1:2::1]:443', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
  ['[::ffff:203.0.113.7]:80', '203.0.113.7'],
  ['[fe80::1%eth0]:80', 'fe80:0:0:0::/64'],
  ['not an address', 'not an address'],
  // An ended connection has no address.
  [undefined, ''],
  ['not an address:80', 'not an address:80'],
  ['[not an address]:80', '[not an address]:80'],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

it.each([
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['[2001:db8:1:ffff::1]:443', '2001:db8:1::/48'],
  ['203.0.113.7', null],
  ['::ffff:203.0.113.7', null],
  [undefined, null],
])('%s belongs to the site %s', (address, site) => {
  expect(siteOf(address)).toBe(site);
});
