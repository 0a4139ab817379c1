/** Rows and files that somebody changed in the database: they are not sent, and the others are. */
import { ownerOf } from '@pis/keyring';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

describe('a waiting entry', () => {
  it.each([
    ['its amount', 'amount_minor = amount_minor * 100'],
    ['its side', "transaction_code = '37', direction = 'INBOUND'"],
    ['its transaction code', "transaction_code = '22'"],
    ['its transaction code to none', "transaction_code = 'xx'"],
    ['its class', "standard_entry_class = 'CCD'"],
    ['its class to none', "standard_entry_class = 'xxx'"],
    ['its service', "service = 'same_day'"],
    ['its service to none', "service = 'at once'"],
    ['its organization', 'organization_id = gen_random_uuid()'],
    ['its payment', 'payment_id = gen_random_uuid()'],
    ['its payment to none', 'payment_id = NULL'],
    ['its contact', 'contact_id = gen_random_uuid()'],
    ['its individual ID', "individual_id = 'ANOTHER'"],
    ['its presentation', 'is_reinitiation = true'],
    ['its MAC', "terms_mac = 'none'"],
    ['its account to none', 'sealed_receiver = NULL'],
  ])('is not sent when %s was changed', async (_what, change) => {
    const altered = await world.submit('4321');
    const other = await world.submit('4321');
    await world.pool.query(`UPDATE ach_entries SET ${change} WHERE reference = $1`, [
      altered.reference,
    ]);
    await world.settle();
    expect(await world.feed()).toMatchObject([
      {
        type: 'rejected',
        reference: altered.reference,
        rejection: { failureCode: 'INTERNAL_ERROR' },
      },
      { type: 'confirmed', reference: other.reference },
    ]);
    expect(world.desk.executions.size).toBe(1);
  });

  it('is not sent with the account of another entry of the same contact', async () => {
    const [one, other] = [await world.submit('1111'), await world.submit('2222')];
    await world.pool.query(
      `UPDATE ach_entries SET (sealed_receiver, terms_mac) =
         (SELECT sealed_receiver, terms_mac FROM ach_entries WHERE reference = $2) WHERE reference = $1`,
      [one.reference, other.reference],
    );
    await world.settle();
    expect(await world.feed()).toMatchObject([
      { type: 'rejected', reference: one.reference },
      { type: 'confirmed', reference: other.reference },
    ]);
  });

  it('of an earlier release, sealed for no place, is sent if its MAC fits', async () => {
    const [whole, altered] = [await world.submit('4321'), await world.submit('4321')];
    const { contactAccount, contactName: name, note } = whole;
    const { achRoutingNumber: routingNumber, achAccountNumber: accountNumber } = contactAccount;
    const text = JSON.stringify({ routingNumber, accountNumber, name, note });
    const sealed = await world.keyring.seal(ownerOf.contact(whole.contactId), text);
    expect(sealed).toMatch(/^v2\./);
    await world.pool.query('UPDATE ach_entries SET sealed_receiver = $1', [sealed]);
    await world.pool.query(
      'UPDATE ach_entries SET amount_minor = amount_minor + 1 WHERE reference = $1',
      [altered.reference],
    );
    await world.settle();
    expect(await world.feed()).toMatchObject([
      { type: 'rejected', reference: altered.reference },
      { type: 'confirmed', reference: whole.reference },
    ]);
  });
});

describe('a recorded file', () => {
  it.each([
    ['a part of it was altered', "UPDATE rail_file_parts SET sealed = 'v2.1.AAAA.AAAA'"],
    ['its size was altered', 'UPDATE rail_files SET size_bytes = size_bytes + 1'],
    ['a part of it is missing', 'DELETE FROM rail_file_parts WHERE part = 0'],
    ['it is missing', 'DELETE FROM rail_files'],
    ['its row names none', "UPDATE ach_files SET archive_id = 'none'"],
  ])('is given up when %s, and the next one goes', async (_what, change) => {
    const lost = await world.submit('4321');
    const transport = { ...world.desk.transport(), put: () => Promise.reject(new Error('away')) };
    await world.open({ transport }).rounds.outbound();
    await world.pool.query(change);
    await world.pool.query('UPDATE ach_files SET upload_due_at = now() - make_interval(secs => 1)');
    const next = instructionEnding('4321');
    await world.bank.submit(next);
    await world.settle();
    expect(await world.count('ach_files', "status = 'unsendable'")).toBe(1);
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable' },
      { type: 'confirmed', reference: next.reference },
    ]);
    expect(await world.bank.inquire(lost.reference)).toEqual({ outcome: 'received' });
  });
});
