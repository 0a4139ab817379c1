/** Times of rows as ISO 8601 texts, which cost a tenth of a Date that becomes such a text. */
import pg from 'pg';

const { TIMESTAMPTZ } = pg.types.builtins;
/** As PostgreSQL writes a time in UTC; it leaves out zeros at the end. */
const utc = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/;

/** The `types` of a query whose times, all of timestamptz(3), become texts with milliseconds, as of Date.toISOString. */
export const isoTimes: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === TIMESTAMPTZ && format !== 'binary' ? isoOf : pg.types.getTypeParser(oid, format),
};

function isoOf(text: string): string {
  const [, date, time, fraction = ''] = utc.exec(text) ?? [];
  if (date !== undefined && time !== undefined)
    return `${date}T${time}.${fraction.padEnd(3, '0')}Z`;
  // Of another time zone of the session.
  const parse = pg.types.getTypeParser(TIMESTAMPTZ, 'text') as (text: string) => Date;
  return parse(text).toISOString();
}
