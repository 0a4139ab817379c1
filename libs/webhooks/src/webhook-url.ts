/**
 * Whether a URL may become a webhook endpoint (spec, "Webhook endpoints": HTTPS only, publicly
 * routable, no embedded credentials). A first check for the client's sake: the host may resolve
 * differently later, so the guarded client judges every connection again.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { addressGuard } from './address-guard.js';

/** Stable codes of the API (interface.md, "Validation codes"). */
export type WebhookUrlProblem =
  | 'validation_url'
  | 'validation_url_https'
  | 'validation_url_credentials'
  | 'validation_url_private_address';

export interface WebhookUrlOptions {
  /** CIDRs exempt from the private-address block. */
  readonly allowedNetworks: readonly string[];
  /** All addresses of a host name; rejects when it has none. The system's resolver when absent. */
  readonly lookup?: (hostname: string) => Promise<readonly string[]>;
}

/** A name server that does not answer must not hold up the request. */
const lookupTimeoutMs = 3_000;

/**
 * The first problem of the URL, or null. Decimal, octal and hexadecimal forms of IPv4 are addresses
 * too: the URL parser makes them dotted. A host that does not resolve is accepted.
 */
export async function checkWebhookUrl(
  text: string,
  { allowedNetworks, lookup = lookupAll }: WebhookUrlOptions,
): Promise<WebhookUrlProblem | null> {
  // The parser drops line breaks and tabs and trims; what is stored must be what was checked.
  if (/[\u0000-\u0020\u007f]/.test(text) || !URL.canParse(text)) return 'validation_url';
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'validation_url_https';
  if (url.username !== '' || url.password !== '') return 'validation_url_credentials';

  const guard = addressGuard(allowedNetworks);
  const addresses = await addressesOf(hostOf(url), lookup);
  // With a mixed answer the exempted address is the one that will be connected to, or none.
  const acceptable =
    addresses.every((address) => guard.permits(address)) ||
    addresses.some((address) => guard.exempts(address));
  return acceptable ? null : 'validation_url_private_address';
}

/** The host name or address of a URL, without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/** RFC 6761: names of this machine, whatever the resolver says. */
const loopbackAddresses = ['127.0.0.1', '::1'];

async function addressesOf(
  host: string,
  lookup: (hostname: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  if (/(^|\.)localhost\.?$/.test(host)) return loopbackAddresses;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(resolve, lookupTimeoutMs, []);
  });
  const unresolved = () => [];
  try {
    return await Promise.race([lookup(host).catch(unresolved), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function lookupAll(hostname: string): Promise<readonly string[]> {
  const found = await systemLookup(hostname, { all: true });
  return found.map(({ address }) => address);
}
