import { generator, type Random } from '@pis/local-servers/testing';
import { isoRails } from './messages.js';
import { parsedTree } from './parsed-xml.js';
import { plainTree } from './plain-xml.js';
import { profileOf } from './profiles.js';
import { isoSender, sampleMessages } from './testing/sample-messages.js';
import { writeIsoMessage } from './write-messages.js';
import { MessageRefused, type XmlElement } from './xml.js';
import { xmlLimits, xmlPrefixes } from './xml-names.js';

const scope = { prefixes: xmlPrefixes, elementsMax: xmlLimits.elementsMax };

const messages = isoRails.flatMap((rail) =>
  sampleMessages(rail).map((message) =>
    Buffer.from(writeIsoMessage(profileOf(rail), isoSender, message)).toString('utf8'),
  ),
);

/** Null when the parser refuses it. */
function parsedOrNull(text: string): XmlElement | null {
  try {
    return parsedTree(text, scope);
  } catch (error) {
    if (error instanceof MessageRefused) return null;
    throw error;
  }
}

/** What makes XML unusual or wrong, and what does neither. */
const pieces = [
  ...[
    '<',
    '>',
    '/',
    '"',
    "'",
    '=',
    '&',
    '&amp;',
    '&lt;',
    '&#38;',
    '&x;',
    ';',
    ' ',
    '\n',
    '\t',
    ':',
    '-',
    '.',
    '!',
    '?',
    ']]>',
  ],
  ...['<!-- x -->', '<![CDATA[x]]>', '<?x y?>', '<a>', '</a>', '<a/>', '<a b="c"/>', ' b="c"'],
  ...[' xmlns="urn:x"', ' xmlns:x="urn:x"', ' xmlns:xml="urn:x"', ' x:y="z"', 'x:', 'é', '\u0001'],
  ...['a', 'Z', '0', '_', '<x:a xmlns:x="urn:x">', '</x:a>', '<!DOCTYPE a>', '\u00a0', '\u000b'],
];

function damaged(text: string, random: Random): string {
  let changed = text;
  for (let left = 1 + random(3); left > 0; left -= 1) {
    const at = random(changed.length + 1);
    const removed = random(2) === 0 ? 0 : random(12);
    const piece = random(4) === 0 ? '' : (pieces[random(pieces.length)] ?? '');
    changed = changed.slice(0, at) + piece + changed.slice(at + removed);
  }
  return changed;
}

describe('plain XML', () => {
  it.each(messages)('needs no parser for a message of a rail', (message) => {
    const tree = plainTree(message, scope);
    expect(tree).not.toBeNull();
    expect(tree).toEqual(parsedTree(message, scope));
  });

  it('gives the tree of the parser, or none, whatever is done to a message', () => {
    const random = generator(20_022);
    let plain = 0;
    for (let n = 0; n < 6_000; n += 1) {
      const text = damaged(messages[random(messages.length)] ?? '', random);
      const tree = plainTree(text, scope);
      if (tree === null) continue;
      plain += 1;
      expect([text, tree]).toEqual([text, parsedOrNull(text)]);
    }
    expect(plain).toBeGreaterThan(500);
  });

  it('gives the tree of the parser, or none, for any sequence of its marks', () => {
    const random = generator(1_998);
    for (let n = 0; n < 30_000; n += 1) {
      const text = damaged(damaged('<a b="c"><d>e</d></a>', random), random);
      const tree = plainTree(text, scope);
      if (tree !== null) expect([text, tree]).toEqual([text, parsedOrNull(text)]);
    }
  });

  it.each([
    ['a reference to a character', '<a>b &#38; c</a>'],
    ['a reference in an attribute', '<a b="c &amp; d"/>'],
    ['a reference to anything else', '<a>&b;</a>'],
    ['a mark that is no reference', '<a>b & c</a>'],
    ['a comment', '<a><!-- b --></a>'],
    ['CDATA', '<a><![CDATA[b]]></a>'],
    ['a document type', '<!DOCTYPE a><a/>'],
    ['a processing instruction', '<?b c?><a/>'],
    ['another encoding', '<?xml version="1.0" encoding="UTF-16"?><a/>'],
    ['a character that is not ASCII', '<a>é</a>'],
    ['an attribute that is given twice', '<a b="c" b="d"/>'],
    ['a prefix that is not declared', '<b:a/>'],
    ['an element without an end', '<a><b></a>'],
    ['two roots', '<a/><b/>'],
    ['text behind the root', '<a/>b'],
    ['nothing', ''],
    [
      'too many levels',
      '<a>'.repeat(xmlLimits.depthMax + 1) + '</a>'.repeat(xmlLimits.depthMax + 1),
    ],
    ['too many elements', `<a>${'<b/>'.repeat(xmlLimits.elementsMax)}</a>`],
  ])('leaves %s to the parser', (_what, text) => {
    expect(plainTree(text, scope)).toBeNull();
  });

  it('reads as many levels and elements as the parser may', () => {
    const { depthMax, elementsMax } = xmlLimits;
    for (const text of [
      '<a>'.repeat(depthMax) + '</a>'.repeat(depthMax),
      `<a>${'<b/>'.repeat(elementsMax - 1)}</a>`,
    ])
      expect(plainTree(text, scope)).toEqual(parsedTree(text, scope));
  });
});
