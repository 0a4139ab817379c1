/**
 * The table sign_in_failures: how often a network has failed to sign in, in all processes together. An attempt
 * counts before it is judged, in one statement. So no number of attempts at the same time gets past the limit.
 */
import type { Keyring } from '@pis/keyring';
import type pg from 'pg';
import { orUnavailable } from './credentials.js';

const windowMs = 15 * 60_000;
/** Of one round of cleaning. */
const pruneMax = 10_000;

const statements = {
  // No row when there are too many: what is refused does not count.
  take: `
    INSERT INTO sign_in_failures AS known (network_mac, failures, ends_at)
      VALUES ($1, 1, now() + $3 * interval '1 millisecond')
      ON CONFLICT (network_mac) DO UPDATE SET
        failures = CASE WHEN known.ends_at <= now() THEN 1 ELSE known.failures + 1 END,
        ends_at = CASE WHEN known.ends_at <= now() THEN excluded.ends_at ELSE known.ends_at END
        WHERE known.failures < $2 OR known.ends_at <= now()
      RETURNING ends_at AS "endsAt"`,
  wait: `
    SELECT greatest(extract(epoch FROM ends_at - now()), 0)::float8 AS seconds
      FROM sign_in_failures WHERE network_mac = $1`,
  giveBack: `
    UPDATE sign_in_failures SET failures = greatest(failures - 1, 0)
      WHERE network_mac = $1 AND ends_at = $2`,
  prune: `
    DELETE FROM sign_in_failures WHERE network_mac = ANY (ARRAY(
      SELECT network_mac FROM sign_in_failures WHERE ends_at <= now()
        LIMIT $1 FOR UPDATE SKIP LOCKED))`,
} as const;

/** One counted attempt. */
export interface CountedAttempt {
  readonly network: string;
  readonly endsAt: Date;
}

/** Every method throws StoreUnavailable. */
export class SignInFailures {
  constructor(
    private readonly pool: Pick<pg.Pool, 'query'>,
    private readonly keyring: Pick<Keyring, 'mac'>,
  ) {}

  /** Counts an attempt. Null when the network has failed that often. */
  async take(network: string, failuresMax: number): Promise<CountedAttempt | null> {
    const values = [this.macOf(network), failuresMax, windowMs];
    const { rows } = await this.run<{ endsAt: Date }>('take', values);
    return rows[0] === undefined ? null : { network, endsAt: rows[0].endsAt };
  }

  /** The attempt was no failure. Of another window there is nothing to give back. */
  async giveBack({ network, endsAt }: CountedAttempt): Promise<void> {
    await this.run('giveBack', [this.macOf(network), endsAt]);
  }

  /** Until the window ends. */
  async waitSeconds(network: string): Promise<number> {
    const { rows } = await this.run<{ seconds: number }>('wait', [this.macOf(network)]);
    return rows[0]?.seconds ?? 0;
  }

  /** Forgets windows that have ended, a bounded number. */
  async prune(): Promise<void> {
    await this.run('prune', [pruneMax]);
  }

  private macOf(network: string): string {
    return this.keyring.mac('sign-in-network', network);
  }

  private run<Row extends pg.QueryResultRow>(
    name: keyof typeof statements,
    values: unknown[],
  ): Promise<pg.QueryResult<Row>> {
    const query = { name: `sign_in_failures.${name}`, text: statements[name], values };
    return orUnavailable(this.pool.query<Row>(query));
  }
}
