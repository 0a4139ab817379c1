import { CsvRows } from './csv-rows.js';

it('counts records, however the file is cut', () => {
  const file = new TextEncoder().encode('a,b\r\n1,"two\r\nlines"\r\n2,"say ""hi"""\r\n');
  for (let size = 1; size <= file.length; size += 1) {
    const rows = new CsvRows();
    for (let at = 0; at < file.length; at += size) rows.add(file.subarray(at, at + size));
    expect(rows.count).toBe(2);
  }
});

it('counts nothing before the header has ended', () => {
  const rows = new CsvRows();
  rows.add(new TextEncoder().encode('a,b'));
  expect(rows.count).toBe(0);
});
