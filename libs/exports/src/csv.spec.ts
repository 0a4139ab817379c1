import { csvLine } from './csv.js';

it('quotes what RFC 4180 requires, and ends lines with CRLF', () => {
  expect(csvLine(['a', 1, null, 'b,c', 'say "hi"', 'two\nlines', ''])).toBe(
    'a,1,,"b,c","say ""hi""","two\nlines",\r\n',
  );
});

it.each([
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\tx',
  '\rx',
  '\nx',
  ' =1+1',
  '\u00a0@x',
  '＝1',
  '=HYPERLINK("http://x","y")',
])('puts an apostrophe before %j', (text) => {
  const field = csvLine([text]).replace(/\r\n$/, '');
  const value = field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field;
  expect(value).toBe(`'${text}`);
});

it.each([
  ['x;=1+1;', "x;'=1+1;"],
  ['x; @SUM(A1)', "x;' @SUM(A1)"],
  ['x\t-1', "x\t'-1"],
  ['x\n=1+1;', "x\n'=1+1;"],
  ['\r\n=1', "'\r'\n'=1"],
  ['=1;+1', "'=1;'+1"],
  ['a;b-c', 'a;b-c'],
])('puts an apostrophe before each cell of %j that would be a formula', (text, safe) => {
  expect(csvLine([text])).toBe(`"${safe}"\r\n`);
});

it('leaves other texts and numbers alone', () => {
  expect(csvLine(['Ada', -5, "'quoted'", '1-2'])).toBe("Ada,-5,'quoted',1-2\r\n");
});
