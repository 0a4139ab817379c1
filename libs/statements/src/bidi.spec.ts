import { visualRuns } from './bidi.js';

const order = (line: string) => visualRuns(line).map(({ text }) => text);

it('leaves a line of one direction alone', () => {
  expect(order('ACME (1) Ltd')).toEqual(['ACME (1) Ltd']);
  expect(visualRuns('אבנר כהן')).toEqual([{ text: 'אבנר כהן', rightToLeft: true }]);
});

it('puts a name that runs to the left into a line that runs to the right', () => {
  expect(order('ACME שלום Ltd')).toEqual(['ACME ', 'שלום', ' Ltd']);
});

it('reads numbers from left to right among letters that run to the left', () => {
  expect(order('אלון 123 בעמ')).toEqual([' בעמ', '123', 'אלון ']);
});

it('runs to the left when its first letter does, and mirrors brackets', () => {
  expect(order('אלון ACME (בעמ)')).toEqual([' )בעמ(', 'ACME', 'אלון ']);
});
