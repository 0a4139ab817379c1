/**
 * Names to addresses, for hosts that strangers chose. Asked of the name servers without the system's
 * resolver: that one works in four threads which the whole process shares (files, compression), so
 * four names whose servers never answer would hold up everything.
 */
import { lookup as askSystem, Resolver } from 'node:dns/promises';

/** All addresses of a host name. Rejects when it has none, or none in time. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** Of one name server and one try; the second try waits longer. */
const serverTimeoutMs = 1_500;
const triesMax = 2;
/** Names that are looked up at once; each takes a few seconds at most, but for those the system is asked for. */
const namesMax = 1_000;
const systemLanes = 2;
/** Names that wait for the system's resolver, which may take many seconds for each. */
const systemQueueMax = 64;
const systemWaitMaxMs = 10_000;
/** A hostile zone may list thousands. */
const addressesMax = 16;

/** RFC 6761: names of this machine, whatever a resolver says. */
const loopbackAddresses = ['127.0.0.1', '::1'] as const;

/** Asks nobody for the names of this machine. */
export function exceptLoopback(lookup: Lookup): Lookup {
  return (hostname) =>
    /(^|\.)localhost\.?$/i.test(hostname) ? Promise.resolve(loopbackAddresses) : lookup(hostname);
}

export interface NameLookupOptions {
  /** `address:port` of name servers; the system's when absent. */
  readonly servers?: readonly string[];
  /** For what the name servers do not know; the system's resolver when absent. */
  readonly bySystem?: Lookup;
}

/** Several questions for one name at once are one question. */
export function nameLookup(options: NameLookupOptions = {}): Lookup {
  const resolver = new Resolver({ timeout: serverTimeoutMs, tries: triesMax });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const bySystem = inTwoLanes(options.bySystem ?? systemAddresses);
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

/** The one of this process. */
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

/** Two at a time, so that half of the shared threads stay free whatever is asked. */
function inTwoLanes(lookup: Lookup): Lookup {
  const waiting: (() => void)[] = [];
  let lanesInUse = 0;
  return async (hostname) => {
    const askedAtMs = performance.now();
    if (lanesInUse < systemLanes) lanesInUse += 1;
    else {
      if (waiting.length >= systemQueueMax)
        throw new Error(`too many names to look up: ${hostname}`);
      // A lookup that ends passes its turn on.
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    try {
      // Whoever asked has given up by then, and others may still be in time.
      if (performance.now() - askedAtMs > systemWaitMaxMs)
        throw new Error(`the system's resolver is busy: ${hostname} was not looked up`);
      return await lookup(hostname);
    } finally {
      const next = waiting.shift();
      if (next === undefined) lanesInUse -= 1;
      else next();
    }
  };
}
