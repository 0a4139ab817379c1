/**
 * Addresses as proxies write them into X-Forwarded-For. Some add the client's port, and brackets around
 * IPv6. Without parsing these, every connection of a client would count as another client.
 */
import { BlockList, isIP, isIPv6 } from 'node:net';

const bracketed = /^\[([^\]]*)\](?::\d*)?$/;
const ipv4WithPort = /^(\d+\.\d+\.\d+\.\d+):\d*$/;

/** The address without port. Other text stays unchanged. Empty for an ended connection. */
export function withoutPort(text: string | undefined): string {
  const trimmed = text?.trim() ?? '';
  const address = bracketed.exec(trimmed)?.[1] ?? ipv4WithPort.exec(trimmed)?.[1];
  return address !== undefined && isIP(address) !== 0 ? address : trimmed;
}

/** Whether an address, with or without a port, belongs to one of the networks (CIDR). */
export function inNetworks(networks: readonly string[]): (address: string | undefined) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/');
    list.addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return (text) => {
    const address = withoutPort(text);
    if (isIP(address) === 0) return false;
    return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  };
}
