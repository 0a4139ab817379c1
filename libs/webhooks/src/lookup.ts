/**
 * Resolves host names that strangers chose. It queries the name servers without the system's resolver, because
 * that one runs in four threads that the whole process shares (files, compression): four names with silent
 * servers would block everything.
 */
import { lookup as askSystem, Resolver } from 'node:dns/promises';

/** All addresses of a host name. Rejects when it has none, or none in time. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** For one name server and one try. The second try waits longer. */
const serverTimeoutMs = 1_500;
const triesMax = 2;
/** Concurrent lookups. Each takes a few seconds at most, except those by the system's resolver. */
const namesMax = 1_000;
/** Two of the four shared threads always stay free. */
const systemLookupsMax = 2;
/** Names that wait for the system's resolver. Each may take many seconds. */
const systemQueueMax = 64;
const systemWaitMaxMs = 10_000;
/** Addresses used of one name. A hostile zone may list thousands. */
const addressesMax = 16;

/** RFC 6761: `localhost` names are this machine, whatever a resolver answers. */
const loopbackAddresses = ['127.0.0.1', '::1'] as const;

/** Resolves the names of this machine without a query. */
export function exceptLoopback(lookup: Lookup): Lookup {
  return (hostname) =>
    /(^|\.)localhost\.?$/i.test(hostname) ? Promise.resolve(loopbackAddresses) : lookup(hostname);
}

export interface NameLookupOptions {
  /** `address:port` of name servers; the system's when absent. */
  readonly servers?: readonly string[];
  /** For names that the name servers do not know. Default: the system's resolver. */
  readonly bySystem?: Lookup;
}

/** Concurrent lookups of one name are one query. */
export function nameLookup(options: NameLookupOptions = {}): Lookup {
  const resolver = new Resolver({ timeout: serverTimeoutMs, tries: triesMax });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const bySystem = fewAtATime(options.bySystem ?? systemAddresses);
  return onceAtATime(async (hostname) => {
    const answers = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found.slice(0, addressesMax);
    if (answers.some((answer) => answer.status === 'rejected' && isTimeout(answer.reason)))
      throw new Error(`no name server answered for ${hostname} in time`);
    // Not known to DNS: names of the hosts file, of search domains, of other name services.
    return (await bySystem(hostname)).slice(0, addressesMax);
  });
}

/** Shared by the whole process. */
export const systemLookup: Lookup = nameLookup();

async function systemAddresses(hostname: string): Promise<readonly string[]> {
  const found = await askSystem(hostname, { all: true });
  return found.map(({ address }) => address);
}

function isTimeout(reason: unknown): boolean {
  return (reason as { code?: unknown } | null)?.code === 'ETIMEOUT';
}

/** @throws when too many names are under way: the caller's attempt fails, and memory stays bounded */
function onceAtATime(lookup: Lookup): Lookup {
  const underWay = new Map<string, Promise<readonly string[]>>();
  return async (hostname) => {
    const asked = underWay.get(hostname);
    if (asked !== undefined) return asked;
    if (underWay.size >= namesMax) throw new Error(`too many names to look up: ${hostname}`);
    const answer = lookup(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, answer);
    return answer;
  };
}

/** Limits the concurrent lookups by the system's resolver. */
function fewAtATime(lookup: Lookup): Lookup {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (hostname) => {
    const askedAtMs = performance.now();
    if (running < systemLookupsMax) running += 1;
    else {
      if (waiting.length >= systemQueueMax)
        throw new Error(`too many names to look up: ${hostname}`);
      // A lookup that ends wakes the next one.
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    try {
      // Its caller has given up by now. Skipping it saves the time of those behind it.
      if (performance.now() - askedAtMs > systemWaitMaxMs)
        throw new Error(`the system's resolver is busy: ${hostname} was not looked up`);
      return await lookup(hostname);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
