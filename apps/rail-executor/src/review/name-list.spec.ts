import { NameList, namesIn } from './name-list.js';

const list = new NameList(
  namesIn(`# a list
17;MORIARTY, James
18;Société Générale Fictive S.A.
Ivan Petrovich Sidorov
20;O'Brien, Seán
21;Müller-Lüdenscheidt, Jürgen
`),
);
const score = (name: string) => list.best(name, 0.5)?.score ?? 0;

describe('a list of names', () => {
  it.each([
    ['James Moriarty', '17'],
    ['moriarty   JAMES', '17'],
    ['Societe Generale Fictive SA', '18'],
    ['Sidorov, Ivan Petrovich', 'line 4'],
    ['Sean OBrien', '20'],
    ['Jurgen Muller Ludenscheidt', '21'],
  ])('finds %s as the same name', (name, id) => {
    expect(list.best(name, 1)).toMatchObject({ entry: { id }, score: 1 });
  });

  it.each([
    ['Jame Moriarty', 0.9],
    ['James Moriarti', 0.9],
    ['James T Moriarty', 0.9],
    ['Ivan Sidorov', 0.7],
  ])('finds %s with a score of at least %d, below 1', (name, atLeast) => {
    expect(score(name)).toBeGreaterThanOrEqual(atLeast);
    expect(score(name)).toBeLessThan(1);
  });

  it.each([
    ['Vladimir Ivanov', 'Владимир Иванов'],
    ['Sergey Lavrov', 'СЕРГЕЙ ЛАВРОВ'],
    ['Sergei Lavrov', 'Сергей Лавров'],
    ['Fyodor Shcherbakov', 'Фёдор Щербаков'],
    ['Fedor Shcherbakov', 'Фёдор Щербаков'],
    ['Georgios Papadopoulos', 'Γεώργιος Παπαδόπουλος'],
    ['Kyriakos Nikolaidis', 'Κυριάκος Νικολαΐδης'],
    ['Jurgen Muller', 'Jürgen Müller'],
    ['Juergen Mueller', 'Jürgen Müller'],
    ['Groß Gerhard', 'GROSS, Gerhard'],
    ['Lukasz Zolkiewski', 'Łukasz Żółkiewski'],
    ['Isik Dogan', 'Işık Doğan'],
    ['ISIK DOGAN', 'ışık doğan'],
    ['Ilhan Iscan', 'İlhan İşcan'],
    ['Joergen Soerensen', 'Jørgen Sørensen'],
    ['Haakon Aasen', 'Håkon Åsen'],
    ['李小龙', '李小龙'],
  ])('finds %s and %s as the same name, whichever is on the list', (one, other) => {
    for (const [listed, searched] of [
      [one, other],
      [other, one],
    ] as const)
      expect(new NameList(namesIn(listed)).best(searched, 1)).toMatchObject({ score: 1 });
  });

  it.each([
    'James.Moriarty',
    "Moriarty'James",
    'James\u2024Moriarty',
    'James…Moriarty',
    // The bank gets a full stop for each of these letters.
    'James\u0531Moriarty',
    '\u0531 James Moriarty',
  ])('finds %s, which a bank reads as the name on the list', (name) => {
    expect(list.best(name, 1)).toMatchObject({ entry: { id: '17' }, score: 1 });
  });

  it('finds words of the list with marks between them', () => {
    const marked = new NameList(namesIn('Moriarty.James'));
    expect(marked.best('James Moriarty', 1)).toMatchObject({ score: 1 });
  });

  it('takes no single word for a name on the list that has letters of another script, too', () => {
    expect(new NameList(namesIn('李 James')).best('James', 0.95)).toBeNull();
  });

  it.each([
    ['Volodymyr Yefremov', 'Володимир Єфремов'],
    ['Fyodor Dostoevsky', 'Фёдор Достоевский'],
    ['Mikhail Khodorkovskii', 'Михаил Ходорковский'],
    // One Cyrillic letter among Latin ones that looks like them.
    ['James Moriarty', 'Jаmes Moriarty'],
    ['James Moriarty', 'James\u200b Mori\u200barty'],
  ])('finds %s by %s with a score of at least 0.85', (listed, searched) => {
    expect(new NameList(namesIn(listed)).best(searched, 0.85)).not.toBeNull();
  });

  it.each(['Ada Lovelace', 'James Watson', 'Виктор Орлов', 'Moritz James', '', '!!!', '李小龙'])(
    'does not take %s for one of them',
    (name) => {
      expect(list.best(name, 0.85)).toBeNull();
    },
  );

  it('finds a name among very many that share a word with it', () => {
    const many = Array.from({ length: 20_000 }, (_, n) => ({
      id: `${n}`,
      name: `John Number${n}`,
    }));
    const long = new NameList([...many, { id: 'x', name: 'Jonathan Archer' }]);
    expect(long.best('John Number19999', 0.9)).toMatchObject({ entry: { id: '19999' }, score: 1 });
    expect(long.best('Jonathan Archr', 0.9)?.entry.id).toBe('x');
  });

  it('finds a name by its rare word when its other words are in very many names', () => {
    const many = Array.from({ length: 20_000 }, (_, n) => ({
      id: `${n}`,
      name: `Global Trading Holding Number${n}`,
    }));
    const long = new NameList([...many, { id: 'x', name: 'Global Trading Holding Zephyrion' }]);
    expect(long.best('Global Trading Holding Zephyrian', 0.9)?.entry.id).toBe('x');
    expect(long.best('Global Trading Holding', 0.7)).not.toBeNull();
  });

  it.each([
    ['12;', 'line 1 has no name'],
    ['a name\n...', 'line 2 has no name'],
    ['x'.repeat(301), 'line 1 is longer than 300 characters'],
  ])('refuses %j with the line', (text, message) => {
    expect(() => namesIn(text)).toThrow(message);
  });
});
