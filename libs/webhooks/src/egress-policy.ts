/**
 * Where a webhook may go: the address guard, and in addition the hosts that this system itself talks to
 * (database, broker, event store, documents, bank, its own ports). Those stay closed even if the operator exempts
 * their network, as a sandbox does with 127.0.0.0/8. The check of a URL and the check of a connection use
 * the same object.
 */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { addressGuard, canonicalAddress } from './address-guard.js';
import { exceptLoopback, type Lookup } from './lookup.js';

export interface OwnHost {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface EgressRules {
  /** CIDRs exempt from the private-address block. */
  readonly allowedNetworks: readonly string[];
  /** Never sent to, whatever is exempt. */
  readonly ownHosts?: readonly OwnHost[];
}

/** Which addresses of a host may be connected to. */
export interface EgressVerdict {
  readonly permitted: readonly string[];
  /** The permitted addresses that only an exemption permits. */
  readonly exempted: readonly string[];
}

export interface EgressPolicy {
  /** @param addresses all addresses of `host`: itself, when it is an address */
  judge(host: string, port: number, addresses: readonly string[]): Promise<EgressVerdict>;
  isOwnName(host: string, port: number): boolean;
}

/** @throws when an allowed network is not a CIDR */
export function egressPolicy(
  { allowedNetworks, ownHosts = [] }: EgressRules,
  lookup: Lookup,
): EgressPolicy {
  const guard = addressGuard(allowedNetworks);
  const isOwnName = (host: string, port: number) =>
    ownHosts.some((own) => own.port === port && bare(own.host) === bare(host));
  return {
    isOwnName,
    async judge(host, port, addresses) {
      if (isOwnName(host, port)) return { permitted: [], exempted: [] };
      const onPort = ownHosts.filter((own) => own.port === port);
      // Rare: our ports are not those of web servers.
      const isOwn = onPort.length === 0 ? () => false : await ownAddresses(onPort, lookup);
      const permitted = addresses.filter((address) => {
        if (!guard.permits(address)) return false;
        // Behind a public address and the port of HTTPS there may be thousands of other hosts.
        const isShared = port === 443 && !guard.exempts(address);
        return isShared || !isOwn(address);
      });
      return { permitted, exempted: permitted.filter((address) => guard.exempts(address)) };
    },
  };
}

/** Whether an address belongs to one of these hosts. A host that cannot be resolved now matches any address. */
async function ownAddresses(
  hosts: readonly OwnHost[],
  lookup: Lookup,
): Promise<(address: string) => boolean> {
  const resolved = await Promise.all(
    hosts.map(async ({ host }) =>
      isIP(host) === 0 ? exceptLoopback(lookup)(host).catch(() => null) : [host],
    ),
  );
  const known = new Set(resolved.flatMap((found) => found ?? []).map(canonicalAddress));
  const isUnknown = resolved.includes(null);
  const machine = addressesOfThisMachine();
  const isHere = (address: string) => loopback.permits(address) || machine.has(address);
  const isOursHere = [...known].some(isHere);
  return (text) => {
    const address = canonicalAddress(text);
    return isUnknown || known.has(address) || (isOursHere && isHere(address));
  };
}

/** A service that is bound to one of them is usually reachable through the others. */
const loopback = (() => {
  const guard = addressGuard(['127.0.0.0/8', '::1/128', '0.0.0.0/8', '::/128']);
  return { permits: (address: string) => guard.exempts(address) };
})();

function addressesOfThisMachine(): ReadonlySet<string> {
  const interfaces = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  return new Set(interfaces.map(({ address }) => canonicalAddress(address)));
}

/** Normalizes a name: lower case, without the dot of the root. */
function bare(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}
