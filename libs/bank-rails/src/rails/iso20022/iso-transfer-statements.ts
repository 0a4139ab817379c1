/** The statements that write many rows of iso_transfers, with the copies of their messages. */
import { ofAnyLength } from '@pis/postgres';
import { keepingFiles } from '../../connections/archive-table.js';
import { isPausedSql } from '../../connections/connection-pauses.js';

export const columns =
  'reference, state, rejection, details, message_id, instruction_id, uetr, file_id, sends, created_at';

/**
 * In one order, so that two processes that add the same rows cannot deadlock. What is about to be sent gets no row while the
 * connection is paused: the database may have failed over since the submission was noted.
 */
export const addSql = `
  INSERT INTO iso_transfers
      (connection, reference, state, rejection, details, message_id, instruction_id, uetr, file_id, sends)
    SELECT $1, t.* FROM unnest(${ofAnyLength('$2::text[]')}, $3::text[], $4::jsonb[], $5::jsonb[], $6::text[], $7::text[],
        $8::text[], $9::uuid[], $10::integer[])
      AS t (reference, state, rejection, details, message_id, instruction_id, uetr, file_id, sends)
    WHERE t.state <> 'sending' OR NOT (${isPausedSql('$1')})
    ORDER BY t.reference
  ON CONFLICT ON CONSTRAINT iso_transfers_pkey DO NOTHING
  RETURNING reference, file_id`;

/** A copy is kept only with its row. */
export const addWithCopiesSql = `
  WITH added AS (${addSql}),
  ${keepingFiles(11, { only: 'id IN (SELECT file_id FROM added)', repeated: 'fail' })}
  SELECT reference FROM added`;

/** What is given for the transfer of the row. */
const given = (values: string) => `(${values})[array_position($2::text[], t.reference)]`;

/**
 * Row by row over the primary key, whatever the planner knows of the table. In one order, as additions are, and like
 * them the rows before the copies. What is given is found in its array: a join would compare each row with all others.
 */
export const settleSql = `
  WITH ${keepingFiles(6)}, open AS (
    SELECT given.reference
      FROM (SELECT * FROM unnest(${ofAnyLength('$2::text[]')}, $3::text[], $5::integer[])
              AS g (reference, state, sends) ORDER BY reference) AS given
      CROSS JOIN LATERAL (
        SELECT t.state, t.sends FROM iso_transfers t
          WHERE t.connection = $1 AND t.reference = given.reference FOR UPDATE) AS t
      WHERE (t.state IN ('sending', 'received', 'held')
             AND (given.state <> 'rejected' OR t.sends = given.sends))
         OR (given.state = 'accepted' AND t.state <> 'accepted')
  )
  UPDATE iso_transfers t SET state = ${given('$3::text[]')}, rejection = ${given('$4::jsonb[]')}
    WHERE t.connection = $1 AND t.reference = ANY (ARRAY(SELECT reference FROM open))
    RETURNING ${columns.replaceAll(/(\w+)/g, 't.$1')}`;
