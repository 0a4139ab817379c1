/** Each kind of mismatch between documents, proofs and tests is reported by name. */
import { conformance, page, rulesIn, titlesIn } from './conformance-rules.mjs';

const file = 'docs/specification.md';
const documentWith = (...ids) => ({
  file,
  markdown: `# Title\n\n## Payments\n\n${ids.map((id) => `- <a id="${id}"></a>${id}`).join('\n')}\n`,
});
const test = (title) => ({ file: 'tests/a.ts', title });

/** The problems of a document with these rules. */
const problemsOf = (ids, titles, proofs = {}, titlesOf = () => null) =>
  conformance(
    [documentWith(...ids)],
    { tests: {}, sameAs: {}, open: [], ...proofs },
    titles.map(test),
    titlesOf,
  ).problems;

describe('Titles of tests', () => {
  it('include it, itOn… and it.each, and nothing else', () => {
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

describe('Rules of a document', () => {
  it('are its anchors, in lists and tables, with the headings above them', () => {
    const markdown = [
      '# Title',
      '## Payments',
      '- <a id="pay-1"></a>**pay-1** It pays.',
      '### Fields',
      '| Rule | Field |',
      '| <a id="payment-field-2"></a>**payment-field-2** | amount |',
      '## Errors',
      '<a id="not a rule"></a> <a id="error-10"></a>',
    ].join('\n');
    expect(rulesIn(markdown)).toEqual([
      { id: 'pay-1', heading: 'Payments' },
      { id: 'payment-field-2', heading: 'Payments › Fields' },
      { id: 'error-10', heading: 'Errors' },
    ]);
  });
});

describe('Rules and proofs', () => {
  it('fit when each rule has a test, repeats another rule, or is open', () => {
    const proofs = {
      tests: { 'pay-4': [['b.spec.ts', 'soon']] },
      sameAs: { 'pay-2': 'pay-1' },
      open: [{ because: 'there is no gold', rules: ['pay-3'] }],
    };
    const ids = ['pay-1', 'pay-2', 'pay-3', 'pay-4'];
    expect(problemsOf(ids, ['pay-1 pays'], proofs, () => ['soon'])).toEqual([]);
  });

  it('do not fit when a rule has no test and no reason', () => {
    expect(problemsOf(['pay-1'], [])).toEqual(['pay-1: has no test and no reason to be open']);
  });

  it('do not fit when a test names no rule or another test’s rule', () => {
    expect(problemsOf(['pay-1'], ['pay-1 a', 'pay-1 b', 'pay-7 c', 'd'])).toEqual([
      'tests/a.ts: pay-1 has a test already',
      'tests/a.ts: "pay-7 c" names no rule',
      'tests/a.ts: "d" names no rule',
    ]);
  });

  it('do not fit when a table names a rule that has no anchor', () => {
    const proofs = {
      tests: { 'pay-7': [] },
      sameAs: { 'pay-8': 'pay-1' },
      open: [{ because: 'no', rules: ['pay-9'] }],
    };
    expect(problemsOf(['pay-1'], ['pay-1 pays'], proofs)).toEqual([
      'pay-7: no document has this rule',
      'pay-8: no document has this rule',
      'pay-9: no document has this rule',
    ]);
  });

  it('do not fit when a proof does not exist', () => {
    const tests = { 'pay-1': [['b.spec.ts', 'soon']] };
    const missing = 'pay-1: there is no test "soon" in b.spec.ts';
    expect(problemsOf(['pay-1'], [], { tests })).toEqual([missing]);
    expect(problemsOf(['pay-1'], [], { tests }, () => ['later'])).toEqual([missing]);
    expect(problemsOf(['pay-1'], [], { sameAs: { 'pay-1': 'pay-9' } })).toEqual([
      'pay-1: there is no rule pay-9',
    ]);
  });

  it('do not fit when rules repeat each other', () => {
    const sameAs = { 'pay-1': 'pay-2', 'pay-2': 'pay-1' };
    expect(problemsOf(['pay-1', 'pay-2'], [], { sameAs })).toEqual([
      'pay-1: pay-2 refers to another rule itself',
      'pay-2: pay-1 refers to another rule itself',
    ]);
  });

  it('do not fit when a rule is proven and open, or open for two reasons', () => {
    const open = ['one', 'two'].map((because) => ({ because, rules: ['pay-1'] }));
    expect(problemsOf(['pay-1'], ['pay-1 pays'], { open })).toEqual([
      'pay-1: is open for two reasons',
      'pay-1: is proven and called open',
    ]);
  });

  it('do not fit when two rules have one ID', () => {
    expect(problemsOf(['pay-1', 'pay-1'], ['pay-1 pays'])).toEqual([
      'pay-1: two rules have this ID',
    ]);
  });
});

describe('The page', () => {
  it('links each rule, and lists its tests or the reason why it is open', () => {
    const proofs = {
      tests: { 'pay-1': [['b.spec.ts', 'it *pays* `{x}`']] },
      sameAs: { 'pay-3': 'pay-1', 'pay-4': 'pay-2' },
      open: [{ because: 'there is no gold', rules: ['pay-2'] }],
    };
    const documents = [documentWith('pay-1', 'pay-2', 'pay-3', 'pay-4')];
    const { rules } = conformance(documents, proofs, [test('pay-1 pays')], () => null);
    const text = page({ rules, titles: { [file]: 'Specification' }, linkTo: (to) => `../${to}` });
    expect(text).toContain('4 rules: 2 proven, 2 open.');
    expect(text).toContain(
      [
        '## Specification',
        '',
        '### Payments',
        '',
        `- [pay-1](../${file}#pay-1)`,
        '  - [pay-1 pays](../tests/a.ts)',
        '  - [it \\*pays\\* `{x}`](../b.spec.ts)',
        `- [pay-2](../${file}#pay-2): **open**, because there is no gold`,
        `- [pay-3](../${file}#pay-3): like pay-1`,
        `- [pay-4](../${file}#pay-4): **open** like pay-2`,
      ].join('\n'),
    );
  });
});
