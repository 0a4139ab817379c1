import { ownerOf } from '@pis/keyring';
import { BankUnavailable, type TransferInstruction } from '../../bank-connection.js';
import { fileArchive } from '../../connections/file-archive.js';
import { ackBytes, failingTransport } from '../../testing/ach-desk.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';
import { sha256Of } from './ach-file-builder.js';
import { groupIntoFiles } from './nacha-batches.js';
import { writeNachaFile } from './nacha-writer.js';
import { correctionEntry } from './returned-entries.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

const bankHeader = {
  immediateDestination: '1234567890',
  immediateOrigin: '021000021',
  createdOn: '2026-11-24',
  createdAt: null,
  fileIdModifier: 'Z',
  destinationName: 'US',
  originName: 'THE BANK',
  referenceCode: '',
} as const;

/** What the feed says after the confirmations. */
const said = async () =>
  (await world.feed()).filter(({ type }) => type !== 'confirmed' && type !== 'held');
const inboundKinds = async () => {
  const { rows } = await world.pool.query<{ kind: string }>(
    "SELECT kind FROM rail_files WHERE way = 'in' ORDER BY place",
  );
  return rows.map(({ kind }) => kind);
};
const upload = (index = 0) => {
  const file = world.desk.uploads[index];
  if (file === undefined) throw new Error('nothing was uploaded');
  return { name: file.name, sha256: sha256Of(file.bytes), bytes: file.bytes };
};

/** One payment whose file was uploaded and not acknowledged. */
async function unacknowledged(ending = '4321'): Promise<TransferInstruction> {
  world.desk.answersAtOnce = false;
  const instruction = await world.submit(ending);
  await world.bank.rounds.outbound();
  return instruction;
}

describe('an acknowledgement', () => {
  it('settles each entry as it says, and the others as accepted', async () => {
    const [good, bad, held, pending] = await Promise.all(
      ['4321', '0205', '0502', '0401'].map((ending) => world.submit(ending)),
    );
    await world.settle();
    const feed = await world.feed();
    const of = (one?: TransferInstruction) => feed.find((n) => n.reference === one?.reference);
    expect(of(good)).toMatchObject({ type: 'confirmed' });
    expect(of(bad)).toMatchObject({
      type: 'rejected',
      rejection: {
        failureCode: 'INVALID_CONTACT_DATA',
        field: 'bankAccount.achAccountNumber',
        railCode: 'ACCOUNT_NUMBER',
      },
    });
    expect(of(held)).toMatchObject({ type: 'held' });
    expect(of(pending)).toBeUndefined();
    expect(await world.bank.submit(held ?? instructionEnding(''))).toEqual({
      outcome: 'pending',
      confirmationExpected: false,
    });
  });

  it('that rejects the file fails every entry in it', async () => {
    const instruction = await unacknowledged();
    const { name, sha256 } = upload();
    world.desk.postAck({ name, sha256, status: 'rejected', code: 'FILE_TOTALS' });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      {
        type: 'rejected',
        reference: instruction.reference,
        rejection: { failureCode: 'INTERNAL_ERROR', railCode: 'FILE_TOTALS' },
      },
    ]);
  });

  it('that comes twice, late, or for a file that it rejects and then accepts, changes nothing more', async () => {
    const instruction = await unacknowledged();
    const { name, sha256 } = upload();
    for (const status of ['accepted', 'accepted', 'duplicate', 'rejected'] as const)
      world.desk.postAck({
        name,
        sha256,
        status,
        at: `2026-11-24T15:00:0${status.length % 10}.000Z`,
      });
    await world.settle();
    expect(await world.feed()).toMatchObject([
      { type: 'confirmed', reference: instruction.reference },
      // It contradicts itself: staff look.
      { type: 'unreadable', reference: `ACH file ${name}` },
    ]);
  });

  it('that follows an update does not confirm what the update left open', async () => {
    const instruction = await unacknowledged();
    const { name, sha256 } = upload();
    const traceNumber = await world.traceOf(instruction);
    const entries = [{ traceNumber, status: 'pending', code: null, message: null }] as const;
    world.desk.postAck({ name, sha256, status: 'update', entries });
    await world.bank.rounds.inbound();
    world.desk.postAck({ name, sha256, status: 'accepted' });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toEqual([]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
  });

  it('of other bytes, of no file of ours, or of no entry of ours is shown to staff and settles nothing', async () => {
    const instruction = await unacknowledged();
    const { name, sha256 } = upload();
    world.desk.postAck({ name, sha256: sha256.replace(/^./, (c) => (c === '0' ? '1' : '0')) });
    world.desk.postAck({ name: 'unknown.ach', sha256 });
    const entry = { status: 'rejected', code: 'OTHER', message: null } as const;
    const traceNumber = '021000029999999';
    world.desk.postAck({ name, sha256, status: 'update', entries: [{ traceNumber, ...entry }] });
    await world.bank.rounds.inbound();
    expect((await world.feed()).map(({ reference }) => reference)).toEqual([
      `ACH file ${name}`,
      'ACH file unknown.ach',
      `ACH trace ${traceNumber}`,
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
  });

  it('that calls an entry a duplicate proves nothing about it', async () => {
    const instruction = await unacknowledged();
    const { name, sha256 } = upload();
    const traceNumber = await world.traceOf(instruction);
    const entries = [
      { traceNumber, status: 'rejected', code: 'DUPLICATE_ENTRY', message: null },
    ] as const;
    world.desk.postAck({ name, sha256, entries });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: `ACH trace ${traceNumber}` },
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
    expect(await world.bank.void(instruction.reference)).toEqual({ outcome: 'received' });
  });

  it('is asked for once in a pause, for an entry that is not settled', async () => {
    const instruction = await world.submit('0402');
    await world.settle();
    const bank = world.open({ limits: { inquiryPauseMs: 3_600_000 } });
    for (let times = 0; times < 3; times += 1)
      expect(await bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
    expect(world.desk.uploads.filter(({ name }) => name.includes('INQUIRY'))).toHaveLength(1);
    await world.settle();
    expect(await world.feed()).toMatchObject([{ type: 'confirmed' }]);
  });
});

describe('a return', () => {
  it('of an entry that was never acknowledged proves that the bank took it', async () => {
    const instruction = await unacknowledged();
    await world.desk.answer();
    const ack = [...world.desk.inbox.keys()][0] ?? '';
    world.desk.inbox.delete(ack);
    await world.desk.postReturns([await world.traceOf(instruction)], 'R02');
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'returned', reference: instruction.reference, returnReasonCode: 'R02' },
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
    const { name, sha256 } = upload();
    world.desk.postAck({ name, sha256 });
    await world.settle();
    expect(await world.feed()).toHaveLength(1);
  });

  it.each(['R01', 'R61', 'R71', 'R85', null])('with %s is told with its code', async (reason) => {
    const instruction = await world.submit('4321');
    await world.settle();
    await world.desk.postReturns([await world.traceOf(instruction)], reason);
    await world.settle();
    expect(await said()).toMatchObject([{ type: 'returned', returnReasonCode: reason }]);
  });

  it('that comes twice is told once, under another name and in another file, too', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    const trace = await world.traceOf(instruction);
    const bytes = await world.desk.postReturns([trace], 'R01');
    world.desk.post('again.ach', bytes);
    await world.settle();
    await world.desk.postReturns([trace, trace], 'R01');
    await world.settle();
    expect(await said()).toHaveLength(1);
    // A second reason is no status. Staff look.
    await world.desk.postReturns([trace], 'R10');
    await world.settle();
    expect(await said()).toMatchObject([
      { reference: instruction.reference },
      { reference: `ACH trace ${trace}`, returnReasonCode: 'R10' },
    ]);
  });

  it('of another entry that had the same trace number is shown to staff only', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    await world.pool.query("UPDATE ach_entries SET individual_id = 'ANOTHER'");
    const trace = await world.traceOf(instruction);
    await world.desk.postReturns([trace], 'R01');
    await world.settle();
    expect(await said()).toMatchObject([{ reference: `ACH trace ${trace}` }]);
  });

  it('with another amount, or of an entry that is not ours, is shown to staff only', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    const trace = await world.traceOf(instruction);
    await world.pool.query('UPDATE ach_entries SET amount_minor = amount_minor + 1');
    await world.desk.postReturns([trace], 'R01');
    await world.settle();
    await world.pool.query("UPDATE ach_entries SET trace_number = '021000027777777'");
    await world.desk.postReturns([trace], 'R02');
    await world.settle();
    expect((await said()).map(({ reference }) => reference)).toEqual([
      `ACH trace ${trace}`,
      `ACH trace ${trace}`,
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
  });

  it('of five hundred entries in one file is told entry by entry', async () => {
    const instructions = Array.from({ length: 500 }, () => instructionEnding('9003'));
    await Promise.all(instructions.map((instruction) => world.bank.submit(instruction)));
    await world.settle();
    expect(new Set((await said()).map(({ reference }) => reference)).size).toBe(500);
    expect((await said()).every((one) => one.returnReasonCode === 'R03')).toBe(true);
  });

  it('is archived with its payment, and erased with its contact', async () => {
    const instruction = await world.submit('0101');
    await world.settle();
    const archive = fileArchive(world);
    const files = await archive.list({ paymentId: instruction.paymentId, max: 10 });
    expect(files.map(({ way, kind }) => `${way} ${kind}`).sort()).toEqual([
      'in nacha',
      'out nacha',
    ]);
    const shown = async () =>
      Promise.all(files.map(async ({ id }) => String((await archive.read(id))?.bytes)));
    for (const text of await shown()) expect(text).toContain('776655440101');
    await world.keyring.destroy([ownerOf.contact(instruction.contactId)]);
    for (const text of await shown()) {
      expect(text).not.toContain('776655440101');
      expect(text).toContain('THE BANK');
    }
  });

  it('of a contact that was erased since is still told', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    await world.keyring.destroy([ownerOf.contact(instruction.contactId)]);
    await world.desk.postReturns([await world.traceOf(instruction)], 'R01');
    await world.settle();
    expect(await said()).toMatchObject([{ type: 'returned', reference: instruction.reference }]);
  });
});

describe('a notification of change', () => {
  async function postCorrection(instruction: TransferInstruction): Promise<void> {
    const original = world.desk.entry(await world.traceOf(instruction));
    if (original === undefined) throw new Error('the bank has no such entry');
    const corrected = correctionEntry(original, {
      changeCode: 'C01',
      correction: { accountNumber: '1918171614' },
      traceNumber: '011000130000001',
    });
    const [batches = []] = groupIntoFiles([corrected]);
    world.desk.post('noc.ach', await writeNachaFile({ header: bankHeader, batches }));
    await world.settle();
  }

  it('is told with the right data sealed under the contact, and changes nothing', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    await postCorrection(instruction);
    const [told] = await said();
    expect(told).toMatchObject({ type: 'corrected', correction: { changeCode: 'C01' } });
    const sealed = told?.correction?.corrected ?? '';
    const owner = ownerOf.contact(instruction.contactId);
    expect(JSON.parse(await world.keyring.open(sealed, owner))).toEqual({
      achAccountNumber: '1918171614',
    });
    const { rows } = await world.pool.query('SELECT * FROM ach_feed');
    expect(JSON.stringify(rows)).not.toContain('1918171614');
  });

  it('about a contact that was erased since keeps nothing of it', async () => {
    const instruction = await world.submit('4321');
    await world.settle();
    await world.keyring.destroy([ownerOf.contact(instruction.contactId)]);
    await postCorrection(instruction);
    expect(await said()).toMatchObject([{ type: 'corrected', correction: null }]);
  });
});

describe('an inbound file', () => {
  it('that is torn is read again until it is whole', async () => {
    const bank = world.open({ limits: { unreadableGraceMs: 3_600_000 } });
    const instruction = await world.submit('4321');
    await world.settle();
    const bytes = await world.desk.postReturns([await world.traceOf(instruction)], 'R01', 'r.ach');
    for (const length of [0, 40, 94, 500]) {
      world.desk.post('r.ach', bytes.subarray(0, length));
      await bank.rounds.inbound();
      await bank.rounds.inbound();
      expect(world.desk.inbox.size).toBe(1);
    }
    expect(await said()).toEqual([]);
    world.desk.post('r.ach', bytes);
    await bank.rounds.inbound();
    expect(world.desk.inbox.size).toBe(0);
    expect(await said()).toMatchObject([{ type: 'returned', reference: instruction.reference }]);
  });

  it.each([
    ['nothing', ''],
    ['no known kind', 'hello\n'],
    ['a NACHA file that ends early', '101 021000021'],
    ['an acknowledgement with another content', '{"type":"file","name":1}\n'],
    ['control characters', '101\0\x1b[2J\n'],
    ['our own inquiry', '{"type":"inquiry","at":"2026-11-24T15:00:00.000Z"}\n'],
  ])('that has %s is kept, shown to staff, and holds up no other', async (_what, text) => {
    const instruction = await unacknowledged();
    const { name, sha256 } = upload();
    world.desk.post('0-first.txt', Buffer.from(text));
    world.desk.postAck({ name, sha256 });
    await world.settle();
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: 'ACH file 0-first.txt' },
      { type: 'confirmed', reference: instruction.reference },
    ]);
    expect(world.desk.inbox.size).toBe(0);
    expect(await inboundKinds()).toEqual(['unreadable', 'ack']);
  });

  it('with our own payments in it moves nothing', async () => {
    const instruction = await unacknowledged();
    world.desk.post('echo.ach', upload().bytes);
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: 'ACH file echo.ach' },
    ]);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'received' });
  });

  it('has any effect once, whichever of two processes takes it in', async () => {
    const instructions = Array.from({ length: 50 }, () => instructionEnding('0101'));
    world.desk.answersAtOnce = false;
    await Promise.all(instructions.map((instruction) => world.bank.submit(instruction)));
    await world.bank.rounds.outbound();
    await world.desk.answer();
    const others = [world.open(), world.open(), world.bank];
    await Promise.all(others.map((one) => one.rounds.inbound()));
    expect(await world.feed()).toHaveLength(100);
    expect(await said()).toHaveLength(50);
  });

  it('stays in the inbox while the bank or the connection fails', async () => {
    const instruction = await unacknowledged();
    const { name, sha256 } = upload();
    world.desk.post('ack.jsonl', ackBytes({ name, sha256 }));
    for (const failing of ['list', 'get', 'remove'] as const) {
      const transport = failingTransport(
        world.desk.transport(),
        (call, moment) => call === failing && moment === 'before',
      );
      const round = world.open({ transport }).rounds.inbound();
      await expect(round).rejects.toBeInstanceOf(BankUnavailable);
      expect(world.desk.inbox.size).toBe(1);
    }
    await world.settle();
    expect(await world.feed()).toMatchObject([{ reference: instruction.reference }]);
    expect(await world.feed()).toHaveLength(1);
  });
});
