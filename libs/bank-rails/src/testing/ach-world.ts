/** achBank on a real PostgreSQL, with a bank that it exchanges files with. */
import { type Keyring } from '@pis/keyring';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  type BankNotification,
  feedBeginning,
  type TransferInstruction,
} from '../bank-connection.js';
import { fileArchive } from '../connections/file-archive.js';
import { achBank, type AchBankOptions } from '../rails/ach/ach-bank.js';
import { atOnceSchedule } from '../rails/ach/ach-schedule.js';
import { AchDesk } from './ach-desk.js';
import { testAchIdentity } from './ach-identity.js';
import { instructionEnding } from './transfer-instructions.js';

const roundsMax = 50;

export async function openAchWorld() {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 10);
  const keyring = testKeyring();
  const desk = new AchDesk();
  const lines: string[] = [];
  const line = (facts: object, message: string) =>
    void lines.push(`${message} ${JSON.stringify(facts)}`);
  const log = { info: line, warn: line, error: line };

  const open = (changes: Partial<AchBankOptions> = {}) => {
    const on: { pool: pg.Pool; keyring: Keyring } = { pool, keyring, ...changes };
    return achBank({
      name: 'test-ach',
      ...on,
      transport: desk.transport(),
      archive: fileArchive(on),
      terms: { submissionInFlightMaxMs: 60_000, referenceMemoryMs: 90 * 24 * 3_600_000 },
      identity: testAchIdentity,
      schedule: atOnceSchedule(),
      log,
      ...changes,
      limits: {
        ...{ inquiryPauseMs: 0, inquiryFileEveryMs: 0, unreadableGraceMs: 0, uploadTakeoverMs: 0 },
        removeAfterMs: 0,
        ...changes.limits,
      },
    });
  };
  const bank = open();

  return {
    pool,
    keyring,
    desk,
    /** The log, a line each. */
    lines,
    bank,
    open,
    archive: fileArchive({ pool, keyring }),

    /** Sends and reads until nothing is left to do. */
    async settle(by: ReturnType<typeof open> = bank): Promise<void> {
      for (let rounds = 0; rounds < roundsMax; rounds += 1) {
        const waitMs = await by.rounds.outbound();
        await by.rounds.inbound();
        if (waitMs === null && desk.inbox.size === 0) return;
      }
    },

    async submit(ending: string, changes: Partial<TransferInstruction> = {}) {
      const instruction = instructionEnding(ending, changes);
      await bank.submit(instruction);
      return instruction;
    },

    /** One payment whose file was uploaded and not acknowledged. */
    async unacknowledged(ending = '4321'): Promise<TransferInstruction> {
      desk.answersAtOnce = false;
      const instruction = instructionEnding(ending);
      await bank.submit(instruction);
      await bank.rounds.outbound();
      return instruction;
    },

    async feed(): Promise<BankNotification[]> {
      const all: BankNotification[] = [];
      for (let after = feedBeginning; ; ) {
        const { notifications, cursor } = await bank.notifications({ after, max: 500 });
        if (notifications.length === 0) return all;
        all.push(...notifications);
        after = cursor;
      }
    },

    async traceOf({ reference }: TransferInstruction): Promise<string> {
      const { rows } = await pool.query<{ trace_number: string }>(
        'SELECT trace_number FROM ach_entries WHERE reference = $1',
        [reference],
      );
      return rows[0]?.trace_number ?? '';
    },

    async count(table: string, where = 'true'): Promise<number> {
      const { rows } = await pool.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM ${table} WHERE ${where}`,
      );
      return rows[0]?.count ?? 0;
    },

    async close(): Promise<void> {
      await bank.close();
      await pool.end();
      await database.drop();
    },
  };
}

export type AchWorld = Awaited<ReturnType<typeof openAchWorld>>;
