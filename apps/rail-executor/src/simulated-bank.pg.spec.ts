/** ISO 20022 messages between our connection and the simulated bank's desk: the conformance suite of the port. */
import type { TransferInstruction } from '@pis/bank-rails';
import { type IsoRail, isoRails } from '@pis/bank-rails/iso20022';
import { bankConnectionConformance } from '@pis/bank-rails/testing';
import {
  BankCore,
  inProcessMessages,
  MessageDesk,
  sandboxConnections,
} from '@pis/bank-simulator/module';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { createLogger } from '@pis/service-kit';
import { bankOver } from './configured-banks.js';

async function openBank(rail: IsoRail) {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 8);
  const desk = new MessageDesk(new BankCore(pool, { delayMs: 0 }));
  const transport = { messages: inProcessMessages(desk) };
  const { connection } = bankOver(sandboxConnections.messages, transport, {
    ...{ environment: 'sandbox', pool, keyring: testKeyring() },
    logger: createLogger('test', 'silent'),
  });
  const onRail = (instruction: TransferInstruction): TransferInstruction => ({
    ...instruction,
    rail,
    contactAccount: {
      ...instruction.contactAccount,
      swiftCode: rail === 'SWIFT' ? 'BBBBFRPPXXX' : null,
    },
  });
  return {
    connection: {
      ...connection,
      submit: (one: TransferInstruction) => connection.submit(onRail(one)),
      isSame: async (one: TransferInstruction) => (await connection.isSame?.(onRail(one))) ?? null,
    },
    async close() {
      await connection.close();
      desk.close();
      await pool.end();
      await database.drop();
    },
  };
}

for (const rail of isoRails)
  bankConnectionConformance(`over ${rail} messages to the simulated bank`, () => openBank(rail));
