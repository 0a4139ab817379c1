import { nachaText, textProblem } from './nacha-text.js';

it.each([
  ['Zoë Müller', 'Zoe Muller'],
  ['Łukasz Żółć', 'Lukasz Zolc'],
  ['Søren Straße', 'Soren Strasse'],
  ['Þórður Æsir', 'Thordur Aesir'],
  ['O’Neil – Smith', "O'Neil - Smith"],
  ['  two\t lines\nof  text ', 'two lines of text'],
  ['李 Trading 有限公司', '. Trading ....'],
  ['李小明', '...'],
  ['Мария Иванова', 'Mariya Ivanova'],
  ['ﬁne №1 ½', 'fine No1 1/2'],
  ['Ünïcödé\u0000\u007f', 'Unicode'],
  ['👩‍👩‍👧 Family', '... Family'],
])('%j becomes %j', (text, expected) => {
  expect(nachaText(text, 22)).toBe(expected);
});

it('a long name is cut without a space at its end', () => {
  expect(nachaText('Jane Alexandra Maria Doe', 22)).toBe('Jane Alexandra Maria D');
  expect(nachaText('Jane Alexandra Marian Doe', 22)).toBe('Jane Alexandra Marian');
});

it('every text that it makes fits its field', () => {
  for (let code = 0; code < 0x3000; code += 1) {
    const text = nachaText(`A${String.fromCodePoint(code)}B`.repeat(12), 22);
    expect(textProblem(text, 22)).toBeNull();
  }
});
