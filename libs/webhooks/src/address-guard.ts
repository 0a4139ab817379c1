/**
 * Which addresses a webhook may be sent to: publicly routable ones, and the networks the operator
 * exempts (PIS_WEBHOOK_ALLOWED_NETWORKS). What is not known to be public is blocked.
 */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

export interface AddressGuard {
  /** Whether a connection to this address (textual IPv4 or IPv6) is permitted. */
  permits(address: string): boolean;
  /** Whether the operator exempted a network that holds it. */
  exempts(address: string): boolean;
}

/** @param allowedNetworks CIDRs. @throws when one is not a CIDR */
export function addressGuard(allowedNetworks: readonly string[]): AddressGuard {
  const networks: Network[] = allowedNetworks.map((cidr) => ipaddr.parseCIDR(cidr));
  const exempts = (address: Address) => networks.some((network) => isIn(address, network));
  const judge = (text: string, verdict: (address: Address) => boolean) => {
    if (!ipaddr.isValid(text)) return false;
    return verdict(unwrapped(ipaddr.parse(text)));
  };
  return {
    permits: (text) => judge(text, (address) => isPublic(address) || exempts(address)),
    exempts: (text) => judge(text, exempts),
  };
}

/** Only these of IPv6 are in use as public addresses (IANA, "IPv6 Global Unicast Address Assignments"). */
const globalUnicast: Network = ipaddr.parseCIDR('2000::/3');

/** A public number that the machine's own cloud answers: Azure's platform address. */
const metadataAddresses: ReadonlySet<string> = new Set(['168.63.129.16']);

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv6') return isIn(address, globalUnicast) && !isIsatap(address);
  return !metadataAddresses.has(address.toString());
}

/** RFC 5214: a tunnel to the IPv4 address in the last four bytes, under any prefix. No longer used. */
function isIsatap(address: Address): boolean {
  const [a = 0, b, c, d] = address.toByteArray().slice(8, 12);
  return (a & ~0x03) === 0 && b === 0 && c === 0x5e && d === 0xfe;
}

function isIn(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

/** One spelling for each address: IPv4 where an IPv6 address only wraps one. Other text stays unchanged. */
export function canonicalAddress(text: string): string {
  return ipaddr.isValid(text) ? unwrapped(ipaddr.parse(text)).toString() : text;
}

/** Where the embedded IPv4 address begins, in bytes, by the IPv6 prefix that carries it. */
const embeddings: readonly { prefix: Network; offset: number }[] = [
  // IPv4-mapped (RFC 4291), translated (RFC 6145), NAT64 (RFC 6052), 6to4 (RFC 3056).
  { prefix: ipaddr.parseCIDR('::ffff:0:0/96'), offset: 12 },
  { prefix: ipaddr.parseCIDR('::ffff:0:0:0/96'), offset: 12 },
  { prefix: ipaddr.parseCIDR('64:ff9b::/96'), offset: 12 },
  { prefix: ipaddr.parseCIDR('2002::/16'), offset: 2 },
];

/** The IPv4 address that packets to this IPv6 address end up at, or the address itself. */
function unwrapped(address: Address): Address {
  const embedding = embeddings.find(({ prefix }) => isIn(address, prefix));
  if (!embedding) return address;
  const { offset } = embedding;
  return ipaddr.fromByteArray(address.toByteArray().slice(offset, offset + 4));
}
