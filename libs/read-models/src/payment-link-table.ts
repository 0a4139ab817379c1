/** The tables `payment_links` and `payment_link_accesses`. Every function throws StoreUnavailable. */
import { GroupCommit, isDataError } from '@pis/postgres';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';

export interface StoredLink {
  /** SHA-256 of the token, hex. */
  readonly tokenDigest: string;
  readonly paymentId: string;
  readonly organizationId: string;
  /** ISO 8601. */
  readonly expiresAt: string;
  /** Of a counterparty that is no saved contact; null for a saved one. */
  readonly counterpartyId: string | null;
}

export class PaymentLinkTable {
  constructor(private readonly pool: pg.Pool) {}

  add(link: StoredLink): Promise<void> {
    return orUnavailable(() => insertLinks(this.pool, 'payment_links', [link]));
  }

  /** The payment's ID, or null. */
  async find(tokenDigest: string): Promise<string | null> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ payment_id: string }>({
        name: 'payment_links.find',
        text: `SELECT payment_id FROM payment_links
          WHERE token_digest = decode($1, 'hex') AND canceled_at IS NULL`,
        values: [tokenDigest],
      }),
    );
    return rows[0]?.payment_id ?? null;
  }

  /** Of a canceled payment: its link is unknown from then on. */
  async disable(paymentId: string, canceledAt: string): Promise<void> {
    await orUnavailable(() =>
      disableLinks(this.pool, 'payment_links', new Map([[paymentId, canceledAt]])),
    );
  }

  /** The payments whose links gave this ID to a counterparty that is no saved contact. */
  async paymentsOfCounterparty(counterpartyId: string): Promise<readonly string[]> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ payment_id: string }>(
        'SELECT payment_id FROM payment_links WHERE counterparty_id = $1 LIMIT $2',
        [counterpartyId, paymentsMax],
      ),
    );
    return rows.map(({ payment_id: paymentId }) => paymentId);
  }
}

/** The ID is made for one payment. Rows without a payment come from requests that were cut off. */
const paymentsMax = 10;

export async function insertLinks(
  db: pg.ClientBase | pg.Pool,
  table: string,
  links: readonly StoredLink[],
): Promise<void> {
  await db.query(
    `INSERT INTO ${table} (token_digest, payment_id, organization_id, expires_at, counterparty_id)
     SELECT decode(d, 'hex'), p, o, e, c FROM unnest($1::text[], $2::uuid[], $3::uuid[],
       $4::timestamptz[], $5::uuid[]) AS t (d, p, o, e, c)
     ON CONFLICT (token_digest) DO NOTHING`,
    [
      links.map(({ tokenDigest }) => tokenDigest),
      links.map(({ paymentId }) => paymentId),
      links.map(({ organizationId }) => organizationId),
      links.map(({ expiresAt }) => expiresAt),
      links.map(({ counterpartyId }) => counterpartyId),
    ],
  );
}

/**
 * Each link is found by a search in the index. With a plain join, PostgreSQL read the whole table for twenty links, as long
 * as it had no statistics of it: a copy that is being filled has none.
 * @param canceled when, ISO 8601, by the payment's ID
 */
export async function disableLinks(
  db: pg.ClientBase | pg.Pool,
  table: string,
  canceled: ReadonlyMap<string, string>,
): Promise<void> {
  await db.query(
    `UPDATE ${table} l SET canceled_at =
       (SELECT t.at FROM unnest($1::uuid[], $2::timestamptz[]) AS t (id, at) WHERE t.id = l.payment_id)
     WHERE l.canceled_at IS NULL AND l.token_digest = ANY (ARRAY(
       SELECT found.token_digest FROM unnest($1::uuid[]) AS t (id) CROSS JOIN LATERAL (
         SELECT token_digest FROM ${table} WHERE payment_id = t.id AND canceled_at IS NULL OFFSET 0
       ) found))`,
    [[...canceled.keys()], [...canceled.values()]],
  );
}

/** An access as it is recorded. */
export interface NewAccess {
  readonly accessId: string;
  readonly paymentId: string;
  readonly organizationId: string;
  readonly kind: 'open' | 'submit' | 'show';
  /** ISO 8601. */
  readonly at: string;
  readonly actor: string | null;
  readonly outcome: string | null;
  readonly sealed: string | null;
}

/** `at` and the visitor are those of the first access of the row. */
export interface StoredAccess extends NewAccess {
  /** ISO 8601. */
  readonly lastAt: string;
  readonly count: number;
}

interface AccessRow {
  readonly access_id: string;
  readonly payment_id: string;
  readonly organization_id: string;
  readonly kind: StoredAccess['kind'];
  readonly at: Date;
  readonly actor: string | null;
  readonly outcome: string | null;
  readonly sealed: Buffer | null;
  readonly last_at: Date;
  readonly count: number;
}

/** Rows in one commit. */
const batchMax = 256;

export class PaymentLinkAccesses {
  private readonly commits: GroupCommit<NewAccess, null>;

  constructor(private readonly pool: pg.Pool) {
    this.commits = new GroupCommit({
      batchMax,
      isItemsFault: isDataError,
      write: async (accesses) => {
        await countAccesses(pool, countedById(accesses));
        return accesses.map(() => null);
      },
    });
  }

  /**
   * Durable when it resolves. Those that arrive together share a commit. Those with one ID count in one row.
   */
  async record(access: NewAccess): Promise<void> {
    await orUnavailable(() => this.commits.add(access));
  }

  /** Adds to the counts of rows. A row that is missing is made. Each row is named once. */
  recordRepeats(repeats: readonly CountedAccess[]): Promise<void> {
    // One statement: either all of them count or none.
    return orUnavailable(() => countAccesses(this.pool, repeats));
  }

  async setOutcome(accessId: string, outcome: string): Promise<void> {
    await orUnavailable(() =>
      this.pool.query('UPDATE payment_link_accesses SET outcome = $2 WHERE access_id = $1', [
        accessId,
        outcome,
      ]),
    );
  }

  /**
   * The newest first, so many of each kind: no number of opens pushes out a submission. The submission that was
   * accepted is always there.
   */
  async list(paymentId: string, limitOfKind: number): Promise<readonly StoredAccess[]> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<AccessRow>(listText, [paymentId, limitOfKind]),
    );
    return rows.map((row) => ({
      accessId: row.access_id,
      paymentId: row.payment_id,
      organizationId: row.organization_id,
      kind: row.kind,
      at: row.at.toISOString(),
      actor: row.actor,
      outcome: row.outcome,
      sealed: row.sealed?.toString('utf8') ?? null,
      lastAt: row.last_at.toISOString(),
      count: row.count,
    }));
  }
}

const listText = `SELECT access_id, payment_id, organization_id, kind, at, actor, outcome, sealed, count,
    COALESCE(last_at, at) AS last_at
  FROM (
    SELECT a.* FROM (VALUES ('open'), ('submit'), ('show')) AS k (kind) CROSS JOIN LATERAL (
      SELECT * FROM payment_link_accesses WHERE payment_id = $1 AND kind = k.kind
      ORDER BY at DESC, access_id LIMIT $2) a
    UNION
    (SELECT * FROM payment_link_accesses
      WHERE payment_id = $1 AND kind = 'submit' AND outcome = 'QUEUED' LIMIT 1)
  ) AS listed ORDER BY at DESC, access_id`;

/** An access, and how many count in its row. */
export interface CountedAccess {
  readonly access: NewAccess;
  /** Of the last one. ISO 8601. */
  readonly lastAt: string;
  readonly count: number;
}

/** A statement cannot change a row twice. */
function countedById(accesses: readonly NewAccess[]): readonly CountedAccess[] {
  const counted = new Map<string, CountedAccess>();
  for (const access of accesses) {
    const { accessId, at } = access;
    const known = counted.get(accessId) ?? { access, lastAt: at, count: 0 };
    const lastAt = at > known.lastAt ? at : known.lastAt;
    counted.set(accessId, { access: known.access, lastAt, count: known.count + 1 });
  }
  return [...counted.values()];
}

/** Each row is named once. In the order of their IDs, so that no two statements wait for each other's rows. */
async function countAccesses(pool: pg.Pool, counted: readonly CountedAccess[]): Promise<void> {
  const rows = counted.toSorted((a, b) => (a.access.accessId < b.access.accessId ? -1 : 1));
  const all = <Value>(of: (access: NewAccess) => Value) => rows.map(({ access }) => of(access));
  await pool.query({
    name: 'payment_link_accesses.count',
    text: `INSERT INTO payment_link_accesses AS a
        (access_id, payment_id, organization_id, kind, at, actor, outcome, sealed, last_at, count)
      SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[],
        $6::text[], $7::text[], $8::bytea[], $9::timestamptz[], $10::integer[])
      ON CONFLICT (access_id) DO UPDATE SET count = a.count + excluded.count,
        last_at = GREATEST(a.last_at, excluded.last_at)`,
    values: [
      all(({ accessId }) => accessId),
      all(({ paymentId }) => paymentId),
      all(({ organizationId }) => organizationId),
      all(({ kind }) => kind),
      all(({ at }) => at),
      all(({ actor }) => actor),
      all(({ outcome }) => outcome),
      all(({ sealed }) => (sealed === null ? null : Buffer.from(sealed))),
      rows.map(({ lastAt }) => lastAt),
      rows.map(({ count }) => count),
    ],
  });
}
