/** Rules, tests and documents that do not fit together are found, each kind of misfit by name. */
import { conformance, page, quoteProblems, sectionsOf, titlesIn } from './conformance-rules.mjs';

const part = (rules, more = {}) => ({ document: 'spec.md', heading: 'Payments', rules, ...more });
const test = (title) => ({ file: 'tests/a.ts', title });
const problemsOf = (rules, titles, elsewhere = () => null) =>
  conformance([part(rules)], titles.map(test), elsewhere).problems;

describe('Titles of tests', () => {
  it('are those of it, of its kin and of tables, and of nothing else', () => {
    const source = `
      it('one-1 plain', () => {});
      itOnOwn('two-1 own', async () => {});
      it.each([1, 2])('three-1 %i', () => {});
      it.skip(\`four-1 skipped\`, () => {});
      describe('not this', () => void item('nor this'));
      iterate('nor that');
      it(title, () => {});`;
    expect(titlesIn(source)).toEqual(['one-1 plain', 'two-1 own', 'three-1 %i', 'four-1 skipped']);
  });
});

describe('Rules and tests', () => {
  it('are in order when each rule has a test, is said elsewhere, or cannot be seen', () => {
    const rules = {
      'pay-1': 'It pays.',
      'pay-2': { text: 'It always pays.', sameAs: 'pay-1' },
      'pay-3': { text: 'In gold.', notTestable: 'there is no gold' },
      'pay-4': { text: 'Soon.', tests: [{ file: 'b.spec.ts', title: 'soon' }] },
    };
    expect(problemsOf(rules, ['pay-1 pays'], () => ['soon'])).toEqual([]);
  });

  it('are not when a rule has no test', () => {
    expect(problemsOf({ 'pay-1': 'It pays.' }, [])).toEqual(['pay-1: has no test: "It pays."']);
  });

  it('are not when a test names no rule, or the rule of another test', () => {
    expect(problemsOf({ 'pay-1': 'It pays.' }, ['pay-1 a', 'pay-1 b', 'pay-7 c', 'd'])).toEqual([
      'tests/a.ts: pay-1 has a test already',
      'tests/a.ts: "pay-7 c" names no rule',
      'tests/a.ts: "d" names no rule',
    ]);
  });

  it('are not when a rule points to a test, or to a rule, that is not there', () => {
    const elsewhere = { text: 'Soon.', tests: [{ file: 'b.spec.ts', title: 'soon' }] };
    const missing = 'pay-1: there is no test "soon" in b.spec.ts';
    expect(problemsOf({ 'pay-1': elsewhere }, [])).toEqual([missing]);
    expect(problemsOf({ 'pay-1': elsewhere }, [], () => ['later'])).toEqual([missing]);
    expect(problemsOf({ 'pay-1': { text: 'Soon.', sameAs: 'pay-9' } }, [])).toEqual([
      'pay-1: there is no rule pay-9',
    ]);
  });

  it('are not when rules refer to each other in turn', () => {
    const rules = {
      'pay-1': { text: 'A.', sameAs: 'pay-2' },
      'pay-2': { text: 'B.', sameAs: 'pay-1' },
    };
    expect(problemsOf(rules, [])).toEqual([
      'pay-1: pay-2 refers to another rule itself',
      'pay-2: pay-1 refers to another rule itself',
    ]);
  });

  it('are not when what is called not testable is tested', () => {
    const rules = { 'pay-1': { text: 'It pays.', notTestable: 'no' } };
    expect(problemsOf(rules, ['pay-1 pays'])).toEqual([
      'pay-1: is tested, and called not testable',
    ]);
  });

  it('are not when an id stands for two rules', () => {
    const parts = [part({ 'pay-1': 'A.' }), part({ 'pay-1': 'B.' }, { heading: 'Others' })];
    expect(conformance(parts, [test('pay-1 pays')], () => null).problems).toEqual([
      'pay-1: two rules have this id',
    ]);
  });
});

describe('Quotes', () => {
  const markdown = [
    '# Title',
    '',
    '## Payments',
    '',
    'It pays. It is',
    'never late.',
    '',
    '| Field | Notes |',
    '|---|---|',
    '| amount | positive |',
  ].join('\n');
  const rules = { 'pay-1': 'It pays.', 'pay-2': 'It is never late.', 'pay-3': 'amount | positive' };
  const check = (changed, context) =>
    quoteProblems([part(changed, { context })], 'spec.md', markdown);

  it('are found over the end of a line, and in tables without their head', () => {
    expect(check(rules)).toEqual([]);
    expect([...sectionsOf(markdown).keys()]).toContain('Payments');
  });

  it('must be in the text, and all of the text in them', () => {
    expect(check({ ...rules, 'pay-1': 'It pays well.' })).toEqual([
      'spec.md, Payments: no "It pays well."',
      'spec.md, Payments: in no rule: "It pays."',
    ]);
    const { 'pay-1': _, ...others } = rules;
    expect(check(others)).toEqual(['spec.md, Payments: in no rule: "It pays."']);
    expect(check(others, { 'It pays.': 'it goes without saying' })).toEqual([]);
  });

  it('must be under a heading that is there', () => {
    const misplaced = part(rules, { heading: 'Refunds' });
    expect(quoteProblems([misplaced], 'spec.md', markdown)).toEqual([
      'spec.md has no heading "Refunds"',
    ]);
  });
});

describe('The page', () => {
  it('has each rule in the document’s words, with its tests or the reason for none', () => {
    const stated = {
      'pay-1': 'It *pays* `{x}`.',
      'pay-2': { text: 'In gold.', notTestable: 'there is no gold' },
      'pay-3': { text: 'Always.', sameAs: 'pay-1' },
    };
    const context = { 'Be patient.': 'advice', 'Rules:': 'introduces what follows' };
    const parts = [part(stated, { context })];
    const { rules } = conformance(parts, [test('pay-1 pays')], () => null);
    const text = page({ parts, rules, linkTo: (file) => `../${file}` });
    expect(text).toContain('3 rules, 2 tested, 1 that nothing can be seen of');
    expect(text).toContain('## Specification\n\n### Payments');
    expect(text).toContain('- **pay-1** “It \\*pays\\* `{x}`.”\n  - [pay-1 pays](../tests/a.ts)');
    expect(text).toContain('- **pay-2** “In gold.”\n  - not tested: there is no gold');
    expect(text).toContain(
      '- **pay-3** “Always.”\n  - as pay-1\n- “Be patient.” is no rule: advice\n',
    );
    expect(text).not.toContain('Rules:');
  });
});
