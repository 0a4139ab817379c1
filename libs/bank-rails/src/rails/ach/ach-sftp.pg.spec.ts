/** ACH files over a real SFTP connection that breaks in the middle of an upload. */
import { sftpFiles } from '../../connections/sftp-files.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { sshKeyPair, startSftpServer, type TestSftpServer } from '../../testing/sftp-server.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';
import { closeAfterEach } from '@pis/local-servers/testing';

const atEnd = closeAfterEach();

const key = sshKeyPair();
const roundsMax = 30;
const limitMs = 60_000;
const [outbound, inbound] = ['/to-bank/', '/from-bank/'];

let world: AchWorld;
let server: TestSftpServer;
beforeEach(async () => {
  world = await openAchWorld();
  server = await startSftpServer({ username: 'acme', publicKey: key.publicKey });
});
afterEach(async () => {
  await server.stop();
  await world.close();
});

/** The bank looks at its folders. */
async function bankWorks(): Promise<void> {
  const transport = world.desk.transport();
  for (const [path, { bytes }] of [...server.files]) {
    const name = path.slice(outbound.length);
    if (!path.startsWith(outbound) || name.startsWith('.')) continue;
    server.files.delete(path);
    await transport.put(name, bytes);
  }
  for (const [name, bytes] of world.desk.inbox)
    server.files.set(`${inbound}${name}`, { bytes: Buffer.from(bytes), mtime: 1 });
  world.desk.inbox.clear();
}

function overSftp() {
  return world.open({
    transport: sftpFiles({
      host: '127.0.0.1',
      port: server.port,
      username: 'acme',
      credentials: { privateKey: key.privateKey, passphrase: null },
      hostKeys: [server.publicKey],
      outboundFolder: outbound,
      inboundFolder: inbound,
      pollMs: 60_000,
      inboundSettleMs: 0,
      reconnectMs: 1,
    }),
  });
}

it(
  'a bank that lets us read and not delete holds up none of its files',
  async () => {
    server.faults.forbids = ['REMOVE'];
    const bank = overSftp();
    atEnd(() => bank.close());
    for (let day = 0; day < 3; day += 1) {
      await bank.submit(instructionEnding('0101'));
      await bank.rounds.outbound();
      await bankWorks();
      await expect(bank.rounds.inbound()).rejects.toThrow(/a deletion with status 3/);
      expect(await world.feed()).toHaveLength(2 * (day + 1));
    }
    expect(await bank.rounds.inbound()).toBeNull();
    expect([...server.files.keys()].filter((path) => path.startsWith(inbound))).toHaveLength(6);
    expect(await world.count('ach_inbox_files', "state = 'kept'")).toBe(6);
  },
  limitMs,
);

it.each([
  ['is cut in the middle of an upload', { cutAfterBytes: 2_000 }],
  ['is cut after the rename', { cutAfterRename: true }],
])(
  'a connection that %s loses no entry and sends none twice',
  async (_what, faults) => {
    const bank = overSftp();
    atEnd(() => bank.close());
    const instructions = Array.from({ length: 60 }, (_, index) =>
      instructionEnding(index % 3 === 0 ? '0101' : '4321'),
    );
    await Promise.all(instructions.map((instruction) => bank.submit(instruction)));
    Object.assign(server.faults, faults);
    for (let rounds = 0; rounds < roundsMax; rounds += 1) {
      await bank.rounds.outbound();
      await bankWorks();
      // The connection may still be broken.
      await bank.rounds.inbound().catch(() => undefined);
      await world.pool.query(
        'UPDATE ach_files SET upload_due_at = now() - make_interval(secs => 1)',
      );
      if ((await world.feed()).length === 80) break;
    }
    expect(world.desk.executions.size).toBe(60);
    expect([...world.desk.executions.values()].every((times) => times === 1)).toBe(true);
    expect(new Set(world.desk.uploads.map(({ name }) => name)).size).toBe(1);
    const feed = await world.feed();
    expect(feed.filter(({ type }) => type === 'confirmed')).toHaveLength(60);
    expect(feed.filter(({ type }) => type === 'returned')).toHaveLength(20);
    expect(world.lines.join('\n')).toContain('could not be uploaded');
  },
  limitMs,
);
