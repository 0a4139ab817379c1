/** The simulated bank behind the formats of the rails: ACH files and ISO 20022 messages, in this process. */
import { BankUnavailable, type NamedConnection } from '@pis/bank-rails';
import { achBank, type AchSchedule, atOnceSchedule } from '@pis/bank-rails/ach';
import { fileArchive, type MessageTransport } from '@pis/bank-rails/connections';
import {
  AchDesk,
  BankCore,
  inProcessFiles,
  inProcessMessages,
  MessageDesk,
  sandboxAchIdentity,
  sandboxConnections,
} from '@pis/bank-simulator/module';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { createLogger } from '@pis/service-kit';
import { bankOver } from '../configured-banks.js';
import { keyring, type World } from './world.js';

const roundsMax = 50;

export interface Formats {
  /** `files` takes ACH, `messages` the other rails. */
  readonly banks: readonly NamedConnection[];
  /** The bank takes messages, and its answers do not arrive. */
  losesAnswers: boolean;
  /** Carries every file in both directions. */
  exchangeFiles(): Promise<void>;
  /** How often the bank has moved money. Its books are a database of their own. */
  executions(): Promise<number>;
  /** So much time passes that the bank forgets every reference: its own books and the records of the connections are older. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/** @param schedule of the ACH files: each goes out at once when absent */
export async function openFormats(
  world: World,
  schedule: AchSchedule = atOnceSchedule(),
): Promise<Formats> {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 8);
  const core = new BankCore(pool, { delayMs: 0 });
  const desk = new MessageDesk(core);
  const files = inProcessFiles(new AchDesk(core));
  const ach = achBank({
    ...{ name: 'files', pool: world.pool, keyring, transport: files, terms: core.terms },
    archive: fileArchive({ pool: world.pool, keyring }),
    identity: sandboxAchIdentity,
    schedule,
    log: world.logger,
  });
  const line = inProcessMessages(desk);
  const messages: MessageTransport = {
    ...line,
    send: async (message) => {
      const answer = await line.send(message);
      if (formats.losesAnswers) throw new BankUnavailable('the answer is lost');
      return answer;
    },
  };
  const overMessages = bankOver(
    { ...sandboxConnections.messages, name: 'messages' },
    { messages },
    {
      ...{ environment: 'sandbox', pool: world.pool, keyring },
      logger: createLogger('test', 'silent'),
    },
  );
  const banks: readonly NamedConnection[] = [
    { name: 'files', rails: ['ACH'], connection: ach },
    overMessages,
  ];
  const formats: Formats = {
    banks,
    losesAnswers: false,
    async exchangeFiles() {
      for (let rounds = 0; rounds < roundsMax; rounds += 1) {
        const waitMs = await ach.rounds.outbound();
        await ach.rounds.inbound();
        if (waitMs === null && (await files.list(1)).length === 0) return;
      }
    },
    async executions() {
      const { rows } = await pool.query<{ n: number }>(
        'SELECT coalesce(sum(executions), 0)::int AS n FROM bank_transfers',
      );
      return rows[0]?.n ?? 0;
    },
    async forget() {
      const values = [core.terms.referenceMemoryMs + 1_000];
      const older = (column: string) =>
        `${column} = ${column} - $1::float8 * interval '1 millisecond'`;
      await pool.query(`UPDATE bank_transfers SET ${older('submitted_at')}`, values);
      await world.pool.query(`UPDATE iso_transfers SET ${older('created_at')}`, values);
    },
    async close() {
      for (const { connection } of banks) await connection.close();
      desk.close();
      await pool.end();
      await database.drop();
    },
  };
  return formats;
}
