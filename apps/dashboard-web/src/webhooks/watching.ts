import { useEffect, useState } from 'react';

const everyMs = 5_000;
const watchedMs = 5 * 60_000;

/**
 * The interval for a query to poll at: some minutes after the page was opened or `what` has changed. Deliveries go
 * on without a change of their payment, so nothing tells of them. A page that is left open must not keep its
 * session alive.
 */
export function useWatching(what: unknown = null): number | false {
  const [ended, setEnded] = useState<{ readonly what: unknown } | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setEnded({ what }), watchedMs);
    return () => clearTimeout(timer);
  }, [what]);
  return ended !== null && ended.what === what ? false : everyMs;
}
