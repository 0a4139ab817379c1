import { isIP, isIPv6 } from 'node:net';
import { withoutPort } from '@pis/service-kit';

const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const groupsOfIpv6 = 8;
const bitsOfGroup = 16;
const groupsOfNetwork = 4;
const groupsOfSite = 3;

/** Brackets, the longest IPv6 address, a zone and a port fit in. */
const addressLengthMax = 64;

/**
 * The address to record of a caller. A client in a network of `PIS_TRUSTED_PROXIES` may write any text into
 * X-Forwarded-For, and events keep it forever: for what is no address, the address of the connection counts.
 */
export function addressOf({
  ip,
  socket,
}: {
  readonly ip: string;
  readonly socket: { readonly remoteAddress?: string | undefined };
}): string {
  const isAddress = ip.length <= addressLengthMax && isIP(withoutPort(ip)) !== 0;
  return isAddress ? ip.trim() : (socket.remoteAddress ?? '');
}

/**
 * The network whose failed authentications count together: an IPv4 address, or the /64 of an IPv6
 * address, because one customer has a whole /64. The port is ignored.
 */
export function networkOf(text: string | undefined): string {
  const address = withoutPort(text);
  const ipv4 = mappedIpv4.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  return prefixOf(address, groupsOfNetwork) ?? address;
}

/** The /48 of an IPv6 address: a site with many networks. Null for every other address. */
export function siteOf(text: string | undefined): string | null {
  const address = withoutPort(text);
  return mappedIpv4.test(address) ? null : prefixOf(address, groupsOfSite);
}

/** Null if it is no IPv6 address. */
function prefixOf(address: string, groups: number): string | null {
  if (!isIPv6(address)) return null;
  const [before = '', after] = address.replace(/%.*$/, '').split('::');
  const left = groupsIn(before);
  const right = groupsIn(after ?? '');
  const zeros = Math.max(0, groupsOfIpv6 - left.length - right.length);
  return [...left, ...Array.from({ length: zeros }, () => '0'), ...right]
    .slice(0, groups)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')
    .concat(`::/${groups * bitsOfGroup}`);
}

/** An IPv4 address at the end stands for two groups. */
function groupsIn(text: string): string[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));
}
