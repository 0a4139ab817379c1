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
  '\r=x',
  '\n=1',
  ' =1+1',
  '\u00a0@x',
  '＝1',
  '=HYPERLINK("http://x","y")',
])('puts an apostrophe before %j', (text) => {
  const field = csvLine([text]).replace(/\r\n$/, '');
  const value = field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field;
  expect(value).toBe(`'${text}`);
});

it('leaves other texts and numbers alone', () => {
  expect(csvLine(['Ada', -5, "'quoted'", '1-2'])).toBe("Ada,-5,'quoted',1-2\r\n");
});
