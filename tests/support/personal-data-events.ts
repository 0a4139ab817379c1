/**
 * A full run with marked parties: contacts and originators created and changed, a payment with every outcome of
 * the sandbox over files and over messages, and webhooks that are delivered, retried, refused and sent again.
 */
import { randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import { withStore } from './everywhere.js';
import { sendBankFiles } from './marked-bank-files.js';
import type { MarkedBank } from './markers.js';
import { linksAreUsed } from './personal-data-links.js';
import type { MarkedRun, Record } from './personal-data-run.js';

const deferralLimitMs = 240_000;

/** The sandbox's outcomes by the ending of the contact's account number, and the status that stays. */
const outcomes = {
  '4321': ['COMPLETED'],
  '0101': ['RETURNED'],
  '0102': ['RETURNED'],
  '0107': ['RETURNED'],
  '0199': ['RETURNED'],
  '0201': ['FAILED'],
  '0202': ['FAILED'],
  '0203': ['FAILED'],
  // The rejection of a file that comes late is no proof any more.
  '0204': ['FAILED', 'FAILED_IN_FLIGHT'],
  '0301': ['BLOCKED'],
  '0401': ['FAILED_IN_FLIGHT'],
  '0402': ['COMPLETED'],
  '0501': ['QUEUED'],
  '0502': ['PROCESSING'],
  '9085': ['RETURNED'],
} as const;

/** A message about it waits in the retry table, by `WayToDefer`. */
const failingTag = 'failing';
const followingTag = 'following';
/** On the list of names of the review, so that the payment is blocked. */
export const wantedTag = 'wanted';
/** The bank corrects the account. */
export const correctedTag = 'cora';

/** Changed so often that there is a snapshot of its state. */
export const longTag = 'long';
/** More than one snapshot may be behind. */
const changesForSnapshot = 205;

/** How a message of a deferred payment comes into the retry table. */
export type WayToDefer =
  /** It fails for a minute while others succeed. */
  | 'by failing'
  /** Behind an older message of the payment that only a later release can handle. */
  | 'by following';

/** Which outcomes go by files; the others go by messages. */
export type Halves = 'odd by files' | 'even by files';

export interface RunOptions {
  readonly deferred: WayToDefer;
  readonly halves: Halves;
}

export async function everythingHappens(
  run: MarkedRun,
  { deferred, halves }: RunOptions,
): Promise<void> {
  const endpoints = await Promise.all(
    ['ok', 'flaky', 'down', 'gone'].map((at) => run.endpoint(at)),
  );
  const [olga, otto] = await Promise.all([run.originator('olga'), run.originator('otto')]);
  const waiting = await messagesFail(run, olga);
  await Promise.all([
    ...(deferred === 'by following' ? [messageFollows(run, olga)] : []),
    webhooksArrive(run, olga, endpoints),
    individualPays(run, otto),
    snapshotIsTaken(run, olga),
    railsAreTaken(run, olga),
    linksAreUsed(run, olga),
    ...Object.entries(outcomes).map(async ([ending, statuses], index) => {
      const isByFiles = (index % 2 === 0) === (halves === 'even by files');
      const bank = isByFiles ? 'unlisted' : index % 4 < 2 ? 'with RTP' : 'with FEDNOW';
      const contact = await run.contact(`out${ending}`, olga, { ending, bank });
      await run.reaches(await run.pay(olga, contact), ...statuses);
    }),
  ]);
  await run.changed('olga', olga, 'originators');
  await Promise.all(waiting.map((paymentId) => run.reaches(paymentId, 'COMPLETED')));
  const { id } = run.record(deferredTag(deferred));
  await until(
    async () => {
      // The retry table is for messages that fail while others succeed.
      await run.pay(olga, run.record('ada'));
      const found = await run.query('SELECT FROM deferred_messages WHERE strpos(value, $1) > 0', [
        id,
      ]);
      return found.length > 0;
    },
    { timeoutMs: deferralLimitMs, everyMs: 2_000, what: 'a message in the retry table' },
  );
}

/** Whose message waits in the retry table. */
export function deferredTag(way: WayToDefer): string {
  return way === 'by failing' ? failingTag : followingTag;
}

/** Makes the dispatcher fail to store the events of two contacts: of one for good, of the other for a while. */
async function messagesFail(run: MarkedRun, olga: Record): Promise<readonly string[]> {
  const parked = await run.contact('parked', olga);
  const failing = await run.contact(failingTag, olga, { bank: 'with RTP' });
  await run.query(
    `ALTER TABLE webhook_fan_outs ADD CONSTRAINT refused_for_good
     CHECK (body NOT LIKE '%payment.queued%${parked.id}%') NOT VALID`,
  );
  await run.query(
    `CREATE FUNCTION refuse_for_now() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       IF NEW.body LIKE '%${failing.id}%' THEN
         RAISE EXCEPTION 'not now' USING ERRCODE = '55P03', DETAIL = NEW.body;
       END IF;
       RETURN NEW;
     END $$`,
  );
  await run.query(
    `CREATE TRIGGER refuse_for_now BEFORE INSERT ON webhook_fan_outs
     FOR EACH ROW EXECUTE FUNCTION refuse_for_now()`,
  );
  return [await run.pay(olga, parked), await run.pay(olga, failing)];
}

/** A message of a payment comes while an older one of it is in the retry table. */
async function messageFollows(run: MarkedRun, olga: Record): Promise<void> {
  const contact = await run.contact(followingTag, olga);
  const paymentId = await run.pay(olga, contact);
  await run.reaches(paymentId, 'COMPLETED');
  await run.arrived('ok', [paymentId], 3);
  const key = `payment-${paymentId}`;
  await run.query(
    `SELECT defer_message('webhook-dispatcher', 'pis.events-of-a-later-release.v1', $1, '{}', '{}', '0',
       1, 0, 'no handler', 0)`,
    [key],
  );
  // Whoever has tried it knows that the table is not empty.
  await run.rows('SELECT FROM deferred_messages WHERE key = $1 AND attempts > 1', [key]);
  const simulation = { outcome: 'return', returnReasonCode: 'R01' };
  await run.api.data(200, 'POST', `/v1/sandbox/payments/${paymentId}/simulate`, simulation);
}

async function webhooksArrive(
  run: MarkedRun,
  olga: Record,
  endpoints: readonly string[],
): Promise<void> {
  const ada = await run.contact('ada', olga, { bank: 'with RTP' });
  const before = await run.pay(olga, ada);
  await run.reaches(before, 'COMPLETED');
  // Another account, at a bank without RTP.
  const after = await run.pay(olga, await run.changed('ada', ada, 'contacts'));
  const company = await run.contact('company', olga, { entityType: 'BUSINESS' });
  const companyId = await run.pay(olga, company);
  await run.reaches(after, 'COMPLETED');
  await run.reaches(companyId, 'COMPLETED');
  await run.arrived('ok', [before, after, companyId], 3);
  await run.arrived('flaky', [before, after, companyId], 6);
  await run.arrived('gone', [before, after, companyId], 3);
  const [ok = '', , down = '', gone = ''] = endpoints;
  for (const paymentId of [before, companyId])
    for (const endpoint of [ok, gone, down]) await run.redeliver(endpoint, paymentId);
  await run.api.data(202, 'POST', `/v1/webhooks/${ok}/replay`, {
    from: new Date().toISOString().slice(0, 10),
  });
  const both = 'payment_id = ANY($1) HAVING count(DISTINCT payment_id) = 2';
  for (const table of ['webhook_finished_deliveries', 'webhook_deliveries'])
    await run.rows(`SELECT count(*) FROM ${table} WHERE body IS NOT NULL AND ${both}`, [
      [before, companyId],
    ]);
}

/** Files and messages name the originator, too. */
async function individualPays(run: MarkedRun, otto: Record): Promise<void> {
  const ways: readonly (readonly [string, MarkedBank])[] = [
    ['omar', 'with RTP'],
    ['oscar', 'with FEDNOW'],
    ['oona', 'unlisted'],
  ];
  await Promise.all(
    ways.map(async ([tag, bank]) => {
      const contact = await run.contact(tag, otto, { bank });
      await run.reaches(await run.pay(otto, contact), 'COMPLETED');
    }),
  );
}

async function snapshotIsTaken(run: MarkedRun, olga: Record): Promise<void> {
  const contact = await run.contact(longTag, olga, { bank: 'with FEDNOW' });
  const { email } = contact.parties[0]?.fields ?? {};
  for (let changes = 0; changes < changesForSnapshot; ) {
    const change = { email: `${changes % 2}${String(email)}` };
    const { status } = await run.api.call('PATCH', `/v1/contacts/${contact.id}`, change);
    // A busy system says that it has no time.
    expect([200, 429, 503]).toContain(status);
    if (status === 200) changes += 1;
  }
  await run.reaches(await run.pay(olga, contact), 'COMPLETED');
  await run.rows('SELECT FROM stream_snapshots WHERE stream_id = $1', [`contact-${contact.id}`]);
}

async function railsAreTaken(run: MarkedRun, olga: Record): Promise<void> {
  const paid = async (tag: string, bank: MarkedBank, rail: string, direction?: 'INBOUND') => {
    const paymentId = await run.pay(olga, await run.contact(tag, olga, { bank }), direction);
    await run.reaches(paymentId, tag === wantedTag ? 'BLOCKED' : 'COMPLETED');
    expect([tag, (await run.payment(paymentId)).paymentRail]).toEqual([tag, rail]);
  };
  await Promise.all([
    paid('sven', 'foreign', 'SWIFT'),
    paid('nora', 'with FEDNOW', 'FEDNOW'),
    paid(wantedTag, 'with RTP', 'RTP'),
    ...['inga', 'paul'].map(async (tag) => {
      await paid(tag, 'unlisted', 'ACH', 'INBOUND');
      await sendBankFiles(run, tag);
      await run.reaches(run.record(tag).paymentIds.at(-1) ?? '', 'RETURNED');
    }),
    paid(correctedTag, 'unlisted', 'ACH').then(() =>
      run.rows("SELECT FROM ach_feed WHERE type = 'corrected' AND corrected IS NOT NULL"),
    ),
  ]);
}

/** An event that no release knows, in a payment's stream, with personal data in the clear. */
export async function streamIsQuarantined(
  run: MarkedRun,
  data: Readonly<{ [field: string]: unknown }>,
): Promise<void> {
  const { environment, databaseUrl } = run.system;
  const streamId = `payment-${run.record('company').paymentIds[0] ?? ''}`;
  await withStore(environment, databaseUrl, async (store) => {
    const last = (await store.readStream(streamId)).at(-1);
    if (last === undefined) throw new Error(`${streamId} is empty`);
    const metadata = { ...last.metadata, schemaVersion: 99 };
    await store.append(streamId, last.revision, [
      { id: randomUUID(), type: 'PaymentQueued', data, metadata },
    ]);
  });
  await run.rows('SELECT FROM quarantined_streams WHERE stream_id = $1', [streamId]);
}
