import { z } from 'zod';
import { checkedYaml } from './checked-yaml.js';

const schema = z.strictObject({
  banks: z.array(z.strictObject({ name: z.string(), rail: z.enum(['ACH', 'RTP']) })),
});

const problemsOf = (text: string) => {
  const checked = checkedYaml(text, schema);
  return 'problems' in checked ? checked.problems : [];
};

describe('a YAML file with a schema', () => {
  it('gives the value', () => {
    const text = 'banks:\n  - name: One\n    rail: ACH\n';
    expect(checkedYaml(text, schema)).toEqual({ value: { banks: [{ name: 'One', rail: 'ACH' }] } });
  });

  it('names the line and the path of every problem, and no values', () => {
    const text =
      'banks:\n  - name: One\n    rail: ACH\n  - name: Two\n    rail: hunter2\nextra: 1\n';
    const problems = problemsOf(text);
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatch(/^line 5: banks\.1\.rail: /);
    expect(problems[1]).toMatch(/^line 1: the file: .*extra/);
    expect(problems.join()).not.toContain('hunter2');
  });

  it('names the line of the object that lacks a key', () => {
    expect(problemsOf('banks:\n  - name: One\n  - name: Two\n    rail: RTP\n')[0]).toMatch(
      /^line 2: banks\.0\.rail: /,
    );
  });

  it.each([
    ['broken YAML', 'banks: [\n'],
    ['a key twice', 'banks: []\nbanks: []\n'],
    ['two documents', 'banks: []\n---\nbanks: []\n'],
    ['nothing', ''],
  ])('refuses %s', (_what, text) => {
    expect(problemsOf(text)[0]).toMatch(/^line \d+: /);
  });

  it('refuses a small file whose aliases expand without limit', () => {
    const levels = Array.from(
      { length: 12 },
      (_, at) => `l${at + 1}: &l${at + 1} [${Array.from({ length: 9 }, () => `*l${at}`).join()}]`,
    );
    expect(problemsOf(['l0: &l0 x', ...levels].join('\n'))).toEqual(['too many aliases']);
  });

  it('refuses a huge file without parsing it', () => {
    expect(problemsOf('#'.repeat(1_000_001))[0]).toMatch(/more than 1000000 characters/);
  });
});
