/** How a system is configured for the search of personal data: everything that may hold some is on. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { HttpsReceiver } from '@pis/local-servers/testing';
import type { Collector } from './collector.js';
import { capital, type Marker } from './markers.js';
import { correctedTag, wantedTag } from './personal-data-events.js';
import { root } from './process.js';

/** Large: nothing in the run is stopped by it, and everything is counted. */
const manyPayments = 100_000;
/** Long enough for the answer of a bank that is reached over files. */
const confirmationTimeoutMs = 5_000;

export interface MarkedSettings {
  readonly receiver: HttpsReceiver;
  readonly collector: Collector;
  /** For the files that are configured. */
  readonly folder: string;
  /** The account number that the bank sends as a correction. */
  readonly correction: Marker;
}

export function markedSettings(options: MarkedSettings): Readonly<Record<string, string>> {
  const { receiver, collector } = options;
  return {
    ...collector.environment,
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
    PIS_WEBHOOK_RETRY_INITIAL_MS: '200',
    PIS_WEBHOOK_RETRY_MAX_MS: '2000',
    // So that visitors of links have addresses that can be found again.
    PIS_TRUSTED_PROXIES: '127.0.0.0/8',
    PIS_RAIL_CONFIRMATION_TIMEOUT_MS: String(confirmationTimeoutMs),
    PIS_STAFF_WEBHOOK_URL: collector.staffUrl,
    PIS_REVIEW_RULES_FILE: reviewRules(options),
    PIS_BANK_SCENARIOS_FILE: scenarios(options),
    LOG_LEVEL: 'trace',
  };
}

/** The rules of the sandbox, a list of names and a limit that counts. */
function reviewRules({ folder }: MarkedSettings): string {
  const ending = (contactAccountEndsWith: string) => ({
    name: `ending-${contactAccountEndsWith}`,
    when: { contactAccountEndsWith },
  });
  const rejected = (contactAccountEndsWith: string, failureCode: string) => ({
    ...ending(contactAccountEndsWith),
    then: 'reject',
    rejection: { failureCode, message: 'The data were rejected.' },
  });
  writeFileSync(
    path.join(folder, 'names.txt'),
    `1;${capital(`zqx${wantedTag}qlastname`)}, ${capital(`zqx${wantedTag}qfirstname`)}\n`,
  );
  const rules = [
    { name: 'names', when: { nameOn: { list: 'names', party: 'contact' } }, then: 'block' },
    rejected('0201', 'INVALID_CONTACT_DATA'),
    rejected('0202', 'INVALID_ORIGINATOR_DATA'),
    rejected('0203', 'INTERNAL_ERROR'),
    { ...ending('0301'), then: 'block' },
    { ...ending('0501'), then: 'hold' },
    { name: 'of-a-day', when: { contactDailyCountAbove: manyPayments }, then: 'block' },
  ];
  return written(folder, 'rules.yaml', { lists: { names: { file: './names.txt' } }, rules });
}

/** The sandbox's own, behind one with a correction. */
function scenarios({ folder, correction }: MarkedSettings): string {
  const own = readFileSync(path.join(root, 'apps/bank-simulator/scenarios.yaml'), 'utf8');
  const corrected = {
    name: 'the account is corrected',
    match: { name: `zqx${correctedTag}q` },
    outcome: 'accept',
    correction: { code: 'C01', corrected: correction.text },
  };
  const file = path.join(folder, 'scenarios.yaml');
  // JSON is YAML.
  writeFileSync(
    file,
    own.replace(/^scenarios:\n/m, `scenarios:\n  - ${JSON.stringify(corrected)}\n`),
  );
  return file;
}

function written(folder: string, name: string, value: unknown): string {
  const file = path.join(folder, name);
  writeFileSync(file, JSON.stringify(value));
  return file;
}
