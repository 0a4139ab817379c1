import { generator } from '@pis/local-servers/testing';
import { MarkerSearch } from './support/marker-search.js';
import { markedParty } from './support/markers.js';

const parties = ['ada', 'adalater', 'omar'].map((tag) =>
  markedParty({ tag, entityType: 'INDIVIDUAL', bank: 'foreign' }),
);
const markers = parties.flatMap((party) => party.markers);
const search = new MarkerSearch(markers);
const [first] = markers;
if (first === undefined) throw new Error('no marker');
const { text } = first;

describe('the search for markers', () => {
  it('finds each marker of a party, and no other one', () => {
    for (const { fields, markers: own } of parties)
      expect(new Set(search.in(JSON.stringify(fields)))).toEqual(new Set(own));
  });

  it.each([
    ['capitals', text.toUpperCase()],
    ['a larger text', `x${text}y`],
    ['a broken beginning before it', `${text.slice(0, 5)}${text}`],
    ['hexadecimal', Buffer.from(`--${text}`).toString('hex')],
    ['hexadecimal of capitals', `\\x${Buffer.from(text.toUpperCase()).toString('hex')}`],
    ['an escape of JSON', `\\u00${text.charCodeAt(0).toString(16)}${text.slice(1)}`],
    ['an escape of a URL', `%${text.charCodeAt(0).toString(16)}${text.slice(1)}`],
    ['characters that are not ASCII around it', `é${text}é`],
  ])('finds a marker in %s', (_name, where) => {
    expect(search.in(where)).toEqual([first]);
  });

  it.each(['base64', 'base64url'] as const)('finds a marker at any place in %s', (encoding) => {
    for (const before of ['', '.', '..', '...'])
      for (const spelled of [text, text.toUpperCase()])
        expect(search.in(Buffer.from(`${before}${spelled}??`).toString(encoding))).toEqual([first]);
  });

  it('finds nothing in a marker that is not whole', () => {
    for (const marker of markers) {
      expect(search.in(marker.text.slice(1))).toEqual([]);
      expect(search.in(`${marker.text.slice(0, -1)}-`)).toEqual([]);
    }
  });

  it.each([1, 2, 3])('finds exactly the markers that are in a text (seed %i)', (seed) => {
    const random = generator(seed);
    const piece = () => markers[random(markers.length)]?.text ?? '';
    for (let count = 0; count < 300; count += 1) {
      // Whole markers and pieces of them, without gaps.
      const pieces = Array.from({ length: 6 }, () =>
        random(2) === 0 ? piece() : piece().slice(0, random(12)),
      );
      const where = pieces.join('');
      const expected = markers.filter((marker) => where.includes(marker.text));
      expect(new Set(search.in(where))).toEqual(new Set(expected));
    }
  });
});
