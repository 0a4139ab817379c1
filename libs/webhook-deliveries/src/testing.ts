/** For tests of what happens between two statements. */
import type pg from 'pg';

type Query = (...args: unknown[]) => Promise<unknown>;

/**
 * A pool whose connections pass each statement to `around`, which decides whether to send it. `previous` is
 * the statement before it on the same connection.
 */
export function poolAround(
  pool: pg.Pool,
  around: (statement: string, send: () => Promise<unknown>, previous: string) => Promise<unknown>,
): pg.Pool {
  const connect = async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as Query;
    let last = '';
    return withMember(client, 'query', (...args: unknown[]) => {
      const [config] = args as [string | pg.QueryConfig];
      const statement = typeof config === 'string' ? config : (config.name ?? config.text);
      const previous = last;
      last = statement;
      return around(statement, () => query(...args), previous);
    });
  };
  return withMember(pool, 'connect', connect);
}

function withMember<Target extends object>(target: Target, name: string, member: unknown): Target {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = key === name ? member : Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
