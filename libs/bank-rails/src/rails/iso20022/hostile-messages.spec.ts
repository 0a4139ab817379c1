import { generator } from '@pis/local-servers/testing';
import { IsoFeed } from './iso-feed.js';
import { isoRails } from './messages.js';
import { readPlainXml } from './plain-xml.js';
import { profileOf } from './profiles.js';
import { readIsoMessage } from './read-messages.js';
import { sampleMessages, isoSender, sampleTransfer } from './testing/sample-messages.js';
import { xmlProblems } from './testing/schema.js';
import { writeIsoMessage } from './write-messages.js';
import { readAnyXml, readXml, xmlLimits } from './xml-reader.js';
import { MessageRefused } from './xml.js';

const encode = (text: string) => new TextEncoder().encode(text);
const profile = profileOf('FEDNOW');
const good = new TextDecoder().decode(
  writeIsoMessage(profile, isoSender, sampleTransfer('FEDNOW')),
);
const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
const body = good.slice(declaration.length);

/** The replacement must have replaced something. */
function changed(from: string | RegExp, to: string): string {
  const text = good.replace(from, to);
  expect(text).not.toBe(good);
  return text;
}

function refusal(text: string | Uint8Array): MessageRefused {
  try {
    readIsoMessage(typeof text === 'string' ? encode(text) : text);
  } catch (error) {
    if (error instanceof MessageRefused) return error;
    throw error;
  }
  throw new Error('the message was read');
}

it('reads the message that the others are made of', () => {
  expect(readIsoMessage(encode(good)).message).toEqual(sampleTransfer('FEDNOW'));
});

it.each([
  [
    'an entity bomb',
    `${declaration}<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><Document>&b;</Document>`,
    /well-formed/,
  ],
  [
    'an external entity',
    `${declaration}<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>${body}`,
    /document type/,
  ],
  [
    'an external DTD',
    `<!DOCTYPE d SYSTEM "http://attacker.example/d.dtd">${body}`,
    /document type/,
  ],
  ['an entity without a DTD', () => changed('Acme Corp', 'Acme &company;'), /well-formed/],
  ['a reference to a control character', () => changed('Acme Corp', 'A&#0;'), /well-formed/],
  ['a reference beyond Unicode', () => changed('Acme Corp', 'A&#x110000;'), /well-formed/],
  ['a control character', () => changed('Acme Corp', 'Acme\u0007'), /well-formed/],
  ['a processing instruction', `${declaration}<?php exit ?>${body}`, /processing instruction/],
  ['another encoding', good.replace('UTF-8', 'UTF-7'), /encoding/],
  ['elements nested too deep', '<a>'.repeat(100) + '</a>'.repeat(100), /levels/],
  ['elements nested without end', '<a>'.repeat(30_000) + '</a>'.repeat(30_000), /levels/],
  [
    'too many namespaces',
    () =>
      changed(
        '<FIToFICstmrCdtTrf>',
        `<FIToFICstmrCdtTrf ${Array.from({ length: 40 }, (_, n) => `xmlns:p${n}="x"`).join(' ')}>`,
      ),
    /namespaces/,
  ],
  ['too many elements', `<a>${'<b/>'.repeat(30_000)}</a>`, /elements/],
  ['a tag without an end', '<Document', /well-formed/],
  ['a tag that never ends', `<Document a="${'x'.repeat(10_000)}`, /well-formed/],
  ['a comment without an end', `${declaration}<!-- ${body}`, /well-formed/],
  ['nothing', '', /well-formed/],
  ['no XML', 'hello', /well-formed/],
  ['cut bytes', good.slice(0, good.length / 2), /well-formed/],
  ['two roots', `${body}${body}`, /well-formed/],
  ['crossed tags', () => changed('</PstlAdr></Cdtr>', '</Cdtr></PstlAdr>'), /well-formed/],
  [
    'another namespace',
    () => changed(/pacs\.008\.001\.08"/, 'pacs.008.001.99"'),
    /none of the messages/,
  ],
  [
    'a namespace of nobody',
    () => changed(/urn:iso:std:iso:20022:tech:xsd:pacs/, 'urn:x:pacs'),
    /none of/,
  ],
  [
    'an element of another namespace',
    () => changed('<Dbtr>', '<Dbtr xmlns="urn:x">'),
    /another namespace/,
  ],
  ['an undeclared prefix', () => changed(/Dbtr>/g, 'q:Dbtr>'), /prefix/],
  [
    'a header of another message',
    () => changed('<MsgDefIdr>pacs.008.001.08', '<MsgDefIdr>pacs.002.001.10'),
    /header/,
  ],
  [
    'two transactions',
    () => changed(/(<CdtTrfTxInf>.*<\/CdtTrfTxInf>)/s, '$1$1'),
    /more than one CdtTrfTxInf/,
  ],
  [
    'two end-to-end ids',
    () => changed(/(<EndToEndId>.*<\/EndToEndId>)/, '$1$1'),
    /more than one EndToEndId/,
  ],
  ['two documents', () => changed(/(<Document .*<\/Document>)/s, '$1$1'), /one document/],
  ['no amount', () => changed(/<IntrBkSttlmAmt.*?<\/IntrBkSttlmAmt>/, ''), /no IntrBkSttlmAmt/],
  ['a negative amount', () => changed('>12345.67<', '>-12345.67<'), /no amount/],
  ['an amount with an exponent', () => changed('>12345.67<', '>1e9<'), /no amount/],
  ['an amount of a third decimal', () => changed('12345.67<', '12345.675<'), /no amount/],
  ['an amount without a currency', () => changed(' Ccy="USD"', ''), /no amount/],
  ['a date that is none', () => changed('>2026-11-23<', '>2026-13-45<'), /no date/],
  ['the 30th of February', () => changed('>2026-11-23<', '>2026-02-30<'), /no date/],
  [
    'the hour 24',
    () => changed('<CreDtTm>2026-11-23T15', '<CreDtTm>2026-11-23T24'),
    /no date and time/,
  ],
  [
    'the 30th of February with a time',
    () => changed(/<CreDtTm>2026-11-23(T[\d:.]+)\+00:00/, '<CreDtTm>2026-02-30$1'),
    /no date and time/,
  ],
  ['the year 0', () => changed('<CreDtTm>2026-', '<CreDtTm>0000-'), /no date and time/],
  [
    'a time beyond the year 9999',
    () => changed(/<CreDtTm>[^<]*/, '<CreDtTm>9999-12-31T23:59:59-01:00'),
    /no date and time/,
  ],
  [
    'an offset of days',
    () => changed(/\+00:00<\/CreDtTm>/, '+99:00</CreDtTm>'),
    /no date and time/,
  ],
  ['a UETR that is none', () => changed(/<UETR>[0-9a-f]/, '<UETR>z'), /no UUID/],
  ['an endless id', () => changed(/<EndToEndId>/, `<EndToEndId>${'x'.repeat(36)}`), /1 to 35/],
  ['an empty id', () => changed(/<EndToEndId>[^<]*/, '<EndToEndId>'), /1 to 35/],
  ['no name', () => changed('<Nm>Acme Corp</Nm>', ''), /no Nm/],
])('refuses %s', (_, text, reason) => {
  expect(refusal(typeof text === 'string' ? text : text()).message).toMatch(reason);
});

it('says line and column', () => {
  const { line, column } = refusal(`${declaration}\n<a>\n  &nbsp;</a>`);
  expect({ line, column }).toEqual({ line: 3, column: 3 });
});

it('refuses 100 MB and bytes that are no UTF-8 before it looks at them', () => {
  const started = performance.now();
  expect(refusal(new Uint8Array(100 * 1024 * 1024)).message).toMatch(/larger than/);
  expect(performance.now() - started).toBeLessThan(30_000);
  expect(refusal(new Uint8Array([0x3c, 0xff, 0x3e])).message).toMatch(/UTF-8/);
});

it('takes a time that grows with the size and no faster, whatever fills the message', () => {
  const fillings = ['&amp;', '<!---->', '<b></b>', 'x', '<![CDATA[&]]>', '&#65;', '\n', '\r'];
  for (const filling of fillings) {
    const times = Math.floor(xmlLimits.messageMaxBytes / 2 / filling.length);
    const text = `<a>${filling.repeat(Math.min(times, filling === '<b></b>' ? 15_000 : times))}</a>`;
    expect(refusal(text)).toBeInstanceOf(MessageRefused);
  }
});

it('lets other work run between the messages of a page', async () => {
  const xml = encode(`<a>${'\r'.repeat(100_000)}</a>`);
  const page = Array.from({ length: 5 }, (_, at) => ({ sequence: String(at), xml }));
  const feed = new IsoFeed({
    name: 'bank',
    rails: ['FEDNOW'],
    transport: { inbox: () => Promise.resolve({ messages: page, cursor: '4' }) },
    archive: { keep: () => Promise.resolve({ id: '', isNew: true }) },
    transfers: { findOriginal: () => Promise.resolve(null), settle: () => Promise.resolve(null) },
  });
  let turns = 0;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const { notifications } = await feed.notifications({ after: '', max: 5 });
  clearImmediate(next);
  expect(notifications.map(({ type }) => type)).toEqual(page.map(() => 'unreadable'));
  expect(turns).toBeGreaterThanOrEqual(page.length - 1);
});

it('reads what banks may write otherwise: prefixes, comments, CDATA, white space, no envelope', () => {
  const document = /<Document .*<\/Document>/s.exec(good)?.[0] ?? '';
  const prefixed = document
    .replaceAll(/<(\/?)([A-Z])/g, '<$1p:$2')
    .replace('xmlns=', 'xmlns:p=')
    .replaceAll('><', '>\n  <')
    .replace('Acme Corp', '<![CDATA[Acme Corp]]>')
    .replace('<p:Dbtr>', '<!-- payer & co --><p:Dbtr>');
  expect(readIsoMessage(encode(`\ufeff${prefixed}`)).message).toEqual(sampleTransfer('FEDNOW'));
});

it('reads or refuses any mutation, and never fails otherwise', () => {
  const random = generator(4_711);
  const messages = sampleMessages('FEDNOW').map((message) =>
    writeIsoMessage(profile, isoSender, message),
  );
  let refused = 0;
  for (let run = 0; run < 3_000; run += 1) {
    const bytes = (messages[random(messages.length)] ?? new Uint8Array()).slice();
    for (let changes = 1 + random(4); changes > 0; changes -= 1)
      bytes[random(bytes.length)] = random(256);
    try {
      readIsoMessage(bytes);
    } catch (error) {
      if (!(error instanceof MessageRefused)) throw error;
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(1_000);
});

it('reads plain XML as the parser does', () => {
  const random = generator(20_261_130);
  const samples = isoRails.flatMap((rail) =>
    sampleMessages(rail).map((message) =>
      new TextDecoder().decode(writeIsoMessage(profileOf(rail), isoSender, message)),
    ),
  );
  for (const text of samples) expect(readPlainXml(text, xmlLimits)).toEqual(readAnyXml(text));
  let plain = 0;
  for (let run = 0; run < 20_000; run += 1) {
    const seed = run % 2 === 0 ? '<r xmlns="q" c="d e"><a>b > c</a><p/> x</r>' : '<a>b &amp; c</a>';
    // Text that was decoded has no lone surrogates.
    const text = mutated(`${random(2) === 0 ? declaration : ''}${seed}`, random).toWellFormed();
    const element = readPlainXml(text, xmlLimits);
    if (element === null) continue;
    plain += 1;
    // It throws if the parser refuses the text.
    expect(element).toEqual(readAnyXml(text));
  }
  expect(plain).toBeGreaterThan(1_000);
});

it.each([
  ['elements that are nested too deep', '<a>'.repeat(41) + '</a>'.repeat(41)],
  ['too many elements', `<a>${'<b/>'.repeat(xmlLimits.elementsMax)}</a>`],
])('takes %s for no plain XML', (_, text) => {
  expect(readPlainXml(text, xmlLimits)).toBeNull();
});

function mutated(text: string, random: (below: number) => number): string {
  let changed = text;
  for (let changes = 1 + random(3); changes > 0; changes -= 1) {
    const at = random(changed.length + 1);
    const piece = pieces[random(pieces.length)] ?? '';
    changed = changed.slice(0, at) + piece + changed.slice(at + random(3));
  }
  return changed;
}

/** Pieces of markup that make a document almost well-formed, or almost not. */
const pieces = [
  ...['<', '>', '/', '"', "'", '&', ';', '=', ' ', ':', '!', '?', '-', ']', '\n', '\t', 'a'],
  ...['<a>', '</a>', '<a/>', '<a b="c">', '<a:b>', '<!--', '-->', '--', '<![CDATA[', ']]>', '&lt;'],
  ...[
    '&#65;',
    '&#x41;',
    '&#0;',
    ' a="b"',
    ' a="b"',
    ' xmlns="u"',
    ' xmlns:p="u"',
    ' p:a="b"',
    'xml',
  ],
  ...[
    '<?xml version="1.0"?>',
    '<?a?>',
    '<a />',
    '</a >',
    ' xmlns=""',
    '\u00a0',
    '\u0001',
    '\ufffe',
  ],
  ...['<p:a/>', ' xmlns:p=""', '\u00e9', '\ud83d\ude00', 'é='],
];

it('reads only what libxml2 takes for well-formed XML, too', async () => {
  const random = generator(20_261_122);
  const read: string[] = [];
  let refused = 0;
  for (let run = 0; run < 6_000; run += 1) {
    const seed = run % 2 === 0 ? good : '<r xmlns:p="q" c="d"><a>b</a><p:a/>\n</r>';
    const text = mutated(seed, random);
    try {
      readXml(encode(text));
      read.push(text);
    } catch (error) {
      if (!(error instanceof MessageRefused)) throw error;
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(1_000);
  expect(read.length).toBeGreaterThan(200);
  // A namespace is a name for us, and libxml2 wants a URI.
  const problems = (await xmlProblems(read)).filter(
    (problem) => problem?.includes('URI') === false,
  );
  expect(problems).toEqual([]);
});
