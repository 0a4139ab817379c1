/**
 * Whether a URL may become a webhook endpoint (rule webhook-1: HTTPS only, publicly
 * routable, no embedded credentials). A first check for the client's sake: the host may resolve
 * differently later, so the guarded client judges every connection again, by the same policy.
 */
import { isIP } from 'node:net';
import { egressPolicy, type EgressRules } from './egress-policy.js';
import { exceptLoopback, type Lookup, systemLookup } from './lookup.js';

/** Stable codes of the API (rule validation-1). */
export type WebhookUrlProblem =
  | 'validation_url'
  | 'validation_url_https'
  | 'validation_url_credentials'
  | 'validation_url_private_address';

export interface WebhookUrlOptions extends EgressRules {
  /** Resolves all addresses of a host name. Default: the resolver of this process. */
  readonly lookup?: Lookup;
}

/** A name server that does not answer must not hold up the request. */
const lookupTimeoutMs = 3_000;
const httpsPort = 443;

/**
 * The first problem of the URL, or null. Decimal, octal and hexadecimal forms of IPv4 are addresses
 * too: the URL parser makes them dotted. A host that does not resolve is accepted, unless its name
 * cannot be one of the public internet.
 */
export async function checkWebhookUrl(
  text: string,
  { lookup = systemLookup, ...rules }: WebhookUrlOptions,
): Promise<WebhookUrlProblem | null> {
  // The parser drops line breaks and tabs and trims; what is stored must be what was checked.
  if (/[\u0000-\u0020\u007f]/.test(text) || !URL.canParse(text)) return 'validation_url';
  const url = new URL(text);
  if (url.protocol !== 'https:') return 'validation_url_https';
  if (hasCredentials(text, url)) return 'validation_url_credentials';
  if (url.port === '0' || hasEmptyPunycode(url)) return 'validation_url';

  const host = hostOf(url);
  const port = portOf(url);
  const policy = egressPolicy(rules, lookup);
  if (policy.isOwnName(host, port)) return 'validation_url_private_address';
  const addresses = await addressesOf(host, lookup);
  if (addresses.length === 0) return isLocalName(host) ? 'validation_url_private_address' : null;
  const { permitted, exempted } = await policy.judge(host, port, addresses);
  // With a mixed answer the exempted address is the one that will be connected to, or none.
  const acceptable = permitted.length === addresses.length || exempted.length > 0;
  return acceptable ? null : 'validation_url_private_address';
}

/** The host name or address of a URL, without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

export function portOf(url: URL): number {
  return url.port === '' ? httpsPort : Number(url.port);
}

/** Also empty ones (`https://@host/`), which the parser drops: they are meant to hide the host. */
function hasCredentials(text: string, url: URL): boolean {
  const [authority = ''] = text.replace(/^[^:]*:[\\/]*/, '').split(/[\\/?#]/, 1);
  return url.username !== '' || url.password !== '' || authority.includes('@');
}

/** `xn--` encodes no character. Node.js took it for an invalid URL until 24.21. */
function hasEmptyPunycode(url: URL): boolean {
  return url.hostname.split('.').includes('xn--');
}

/** Names that only private networks resolve: single labels (`postgres`) and domains set aside for them. */
function isLocalName(host: string): boolean {
  const name = host.replace(/\.$/, '');
  return !name.includes('.') || /\.(local|localdomain|internal|home\.arpa)$/.test(name);
}

async function addressesOf(host: string, lookup: Lookup): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(resolve, lookupTimeoutMs, []);
  });
  const unresolved = () => [];
  try {
    return await Promise.race([exceptLoopback(lookup)(host).catch(unresolved), late]);
  } finally {
    clearTimeout(timer);
  }
}
