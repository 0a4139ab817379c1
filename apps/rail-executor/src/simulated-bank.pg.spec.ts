/** ISO 20022 messages between our connection and the simulated bank's desk: the conformance suite of the port. */
import type { TransferInstruction } from '@pis/bank-rails';
import type { MessageTransport } from '@pis/bank-rails/connections';
import { type IsoRail, isoRails } from '@pis/bank-rails/iso20022';
import { bankConnectionConformance, instructionEnding } from '@pis/bank-rails/testing';
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

const same = (line: MessageTransport) => line;

async function openBank(
  rail: IsoRail,
  change: (line: MessageTransport) => MessageTransport = same,
) {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 8);
  const desk = new MessageDesk(new BankCore(pool, { delayMs: 0 }));
  const transport = { messages: change(inProcessMessages(desk)) };
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
    pool,
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

it('keeps for staff that the bank cancels a transfer which it has accepted meanwhile', async () => {
  const opened = await openBank('FEDNOW', (line) => ({
    ...line,
    send: async (message) => {
      const answer = await line.send(message);
      const text = new TextDecoder().decode(answer ?? new Uint8Array());
      if (!text.includes('>RJCR<')) return answer;
      await opened.pool.query("UPDATE iso_transfers SET state = 'accepted'");
      return new TextEncoder().encode(text.replace('>RJCR<', '>CNCL<'));
    },
  }));
  try {
    const instruction = instructionEnding('0401');
    await opened.connection.submit(instruction);
    expect(await opened.connection.void(instruction.reference)).toEqual({ outcome: 'received' });
    const { rows } = await opened.pool.query(
      'SELECT n.feed, n.type, r.tries FROM rail_notifications n JOIN rail_notified_references r USING (feed, reference)',
    );
    expect(rows).toEqual([
      { feed: sandboxConnections.messages.name, type: 'unreadable', tries: 0 },
    ]);
  } finally {
    await opened.close();
  }
});
