/**
 * Rows straight into the read model of payments, as years of use would leave them: statuses, rails and
 * originators in the shares that a business has, so that some combinations are common, some rare and
 * some never occur. A tenth of all payments goes to one contact, under one label.
 */
import pg from 'pg';

/** Of one year, ending here: the same for every number of rows. */
const newest = '2026-11-01T00:00:00Z';
export const middle = '2026-05-01T00:00:00.000Z';
const originators = 20;
const paymentsPerContact = 20;

const idOf = (kind, n) => `${kind}000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
export const originatorIdOf = (n) => idOf('0a', n);
export const contactIdOf = (n) => idOf('0c', n);
/** Its originator is 0. */
export const busyContactId = contactIdOf(0);
export const busyLabel = 'payroll';

/** Fills an empty table, the indexes last, as a restore would. */
export async function insertPayments({ connectionString, organizationId, rows }) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows: indexes } = await client.query(
      `SELECT indexname, indexdef FROM pg_indexes
       WHERE tablename = 'payments' AND indexdef NOT LIKE 'CREATE UNIQUE%'`,
    );
    for (const { indexname } of indexes) await client.query(`DROP INDEX ${indexname}`);
    await client.query("SET maintenance_work_mem = '256MB'");
    await client.query('SELECT setseed(0.42)');
    await client.query(insertion, [
      ...[organizationId, rows, newest, originators, paymentsPerContact, busyLabel],
    ]);
    for (const { indexdef } of indexes) await client.query(indexdef);
    await client.query('VACUUM ANALYZE payments');
  } finally {
    await client.end();
  }
}

const insertion = `
WITH dice AS MATERIALIZED (
  SELECT n, random() AS a, random() AS b, random() AS c,
    CASE WHEN random() < 0.1 THEN 0 ELSE floor($2::int / $5::int * random())::int END AS contact
  FROM generate_series(1, $2::int) n
), directed AS (
  SELECT *, floor($4::int * (contact::float8 * $5::int / $2::int) ^ 2)::int AS originator,
    CASE WHEN a < 0.35 THEN 'INBOUND' ELSE 'OUTBOUND' END AS direction FROM dice
), routed AS (
  SELECT *,
    CASE WHEN direction = 'INBOUND' OR b < 0.6 THEN 'ACH' WHEN b < 0.8 THEN 'RTP'
      WHEN b < 0.92 THEN 'FEDNOW' WHEN b < 0.98 THEN 'FEDWIRE' ELSE 'SWIFT' END AS rail,
    CASE WHEN n > $2::int - 20 THEN 'QUEUED' WHEN n > $2::int - 60 THEN 'PROCESSING'
      WHEN direction = 'INBOUND' AND c < 0.05 THEN 'RETURNED'
      WHEN direction = 'INBOUND' AND c < 0.08 THEN 'CANCELED'
      WHEN direction = 'INBOUND' AND c < 0.083 THEN 'AWAITING_CONFIRMATION'
      WHEN direction = 'OUTBOUND' AND (b < 0.6 AND c < 0.005) THEN 'RETURNED'
      WHEN c > 0.999 THEN 'BLOCKED' WHEN c > 0.997 THEN 'FAILED_IN_FLIGHT' WHEN c > 0.98 THEN 'FAILED'
      ELSE 'COMPLETED' END AS status,
    gen_random_uuid() AS payment_id,
    $3::timestamptz - interval '1 year' * (1 - n::float8 / $2::int) AS created_at,
    ('0a000000-0000-4000-8000-' || lpad(originator::text, 12, '0'))::uuid AS originator_id,
    ('0c000000-0000-4000-8000-' || lpad(contact::text, 12, '0'))::uuid AS contact_id,
    CASE WHEN contact = 0 THEN $6::text ELSE 'invoice-' || n / 2 END AS external_payment_id
  FROM directed
)
INSERT INTO payments (payment_id, organization_id, originator_id, contact_id, status, direction,
  payment_rail, external_payment_id, created_at, revision, item)
SELECT payment_id, $1::uuid, originator_id, contact_id, status, direction, rail, external_payment_id,
  created_at, 2, format(
    '{"paymentId":"%s","status":"%s","createdAt":"%s","completedAt":null,"failedAt":null,"returnedAt":null,"canceledAt":null,"paymentAmount":125000,"discountFee":625,"flatFee":25,"returnFee":400,"currencyCode":"USD","paymentRail":"%s","direction":"%s","paymentNote":"Invoice 1042","externalPaymentId":"%s","failureCode":null,"failureMessage":null,"originator":{"id":"%s","firstName":null,"lastName":null,"companyName":"Example Trading LLC","entityType":"BUSINESS"},"contact":{"id":"%s","firstName":"Ada","lastName":"Moreno","companyName":null,"entityType":"INDIVIDUAL"}}',
    payment_id, status, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    rail, direction, external_payment_id, originator_id, contact_id)::json
FROM routed`;
