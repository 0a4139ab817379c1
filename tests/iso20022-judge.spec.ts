/**
 * Our ISO 20022 messages before independent judges: Prowide's library reads every message of every rail, and ISO's own schema
 * accepts each pacs.008.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type IsoMessage, isoRails, profileOf, writeIsoMessage } from '@pis/bank-rails/iso20022';
import { isoSender, randomTransfer, sampleMessages, schemaProblems } from '@pis/bank-rails/testing';
import { generator } from '@pis/local-servers/testing';
import { creditTransferSchema, judgeProgram, prowideJars } from './support/iso-judges.js';

const startLimitMs = 660_000;
const runLimitMs = 300_000;
const transfersPerRail = 50;

const prowide = prowideJars();
const schema = creditTransferSchema();

/** Every kind of message of every rail, and transfers of any names, addresses and amounts. */
const messages = isoRails.flatMap((rail) => {
  const random = generator(20_022);
  const transfers = Array.from({ length: transfersPerRail }, () => randomTransfer(rail, random));
  return [...sampleMessages(rail), ...transfers].map((message) => ({ rail, message }));
});
const written = (rail: (typeof isoRails)[number], message: IsoMessage) =>
  Buffer.from(writeIsoMessage(profileOf(rail), isoSender, message)).toString();

if (prowide.path === null)
  describe(`before Prowide's library (not here: ${prowide.missing})`, () => {
    it.skip('every message is valid for its version, and is read and written again as it was', () =>
      undefined);
    it.skip('a message with two elements exchanged is refused, so the judge does look', () =>
      undefined);
  });
else
  describe("before Prowide's library", () => {
    const jars = path.join(prowide.path, '*');
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(path.join(os.tmpdir(), 'pis-iso-judge-'));
    }, startLimitMs);
    afterEach(() => rmSync(folder, { recursive: true, force: true }));

    const verdict = () =>
      spawnSync('java', ['-XX:TieredStopAtLevel=1', '-cp', jars, judgeProgram, folder], {
        encoding: 'utf8',
        timeout: runLimitMs,
      });

    it(
      'every message is valid for its version, and is read and written again as it was',
      () => {
        messages.forEach(({ rail, message }, index) => {
          const name = `${rail}-${String(index)}-${message.type}.xml`;
          writeFileSync(path.join(folder, name), written(rail, message));
        });
        expect(verdict().stdout).toBe(`read ${String(messages.length)} messages, 0 faults\n`);
      },
      runLimitMs,
    );

    it(
      'a message with two elements exchanged is refused, so the judge does look',
      () => {
        const [first] = sampleMessages('FEDNOW');
        if (first === undefined) throw new Error('there is no message');
        const good = written('FEDNOW', first);
        const bad = good.replace(
          /(<InstrId>.*?<\/InstrId>)(<EndToEndId>.*?<\/EndToEndId>)/,
          '$2$1',
        );
        expect(bad).not.toBe(good);
        writeFileSync(path.join(folder, 'bad.xml'), bad);
        const { status, stdout } = verdict();
        expect(stdout).toMatch(/bad\.xml: Document: .*InstrId/);
        expect(status).toBe(1);
      },
      runLimitMs,
    );
  });

if (schema.path === null)
  describe(`before ISO's schema (not here: ${schema.missing})`, () => {
    it.skip('every pacs.008 is valid', () => undefined);
    it.skip('a name that is too long is refused, so the validator does look', () => undefined);
  });
else
  describe("before ISO's schema", () => {
    const xsd = readFileSync(schema.path, 'utf8');

    it(
      'every pacs.008 is valid',
      async () => {
        const transfers = messages.filter(({ message }) => message.type === 'pacs.008');
        const documents = transfers.map(({ rail, message }) => documentIn(written(rail, message)));
        expect(await schemaProblems(xsd, documents)).toEqual([]);
      },
      runLimitMs,
    );

    it('a name that is too long is refused, so the validator does look', async () => {
      const [first] = sampleMessages('SWIFT');
      if (first?.type !== 'pacs.008') throw new Error('there is no pacs.008');
      const message = { ...first, debtor: { name: 'x'.repeat(141), address: null } };
      const problems = await schemaProblems(xsd, [documentIn(written('SWIFT', message))]);
      expect(problems.join()).toMatch(/Nm/);
    });
  });

function documentIn(xml: string): string {
  return /<Document .*<\/Document>/s.exec(xml)?.[0] ?? '';
}
