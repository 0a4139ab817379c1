import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ScenarioFile } from './scenario-file.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-scenarios-'));
  file = path.join(folder, 'scenarios.yaml');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const one = (name: string) => `scenarios: [{ name: ${name}, outcome: hold }]\n`;

/** Replaces the file as deployments do, so that no reader sees half of it. */
function replace(text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

function open() {
  const told: string[] = [];
  let nowMs = 0;
  const scenarios = new ScenarioFile({
    path: file,
    onReload: (_path, count) => told.push(`reloaded ${count}`),
    onProblem: (_path, problem) => told.push(problem),
    clock: () => nowMs,
  });
  const names = () => {
    nowMs += 1_000;
    return scenarios.current().map(({ name }) => name);
  };
  return { told, names };
}

describe('the file with the scenarios', () => {
  it('takes effect again when it changes', () => {
    replace(one('first'));
    const { names, told } = open();
    expect(names()).toEqual(['first']);
    replace(one('second'));
    expect(names()).toEqual(['second']);
    expect(names()).toEqual(['second']);
    expect(told).toEqual(['reloaded 1']);
  });

  it('keeps the former scenarios when the new ones are wrong, and says why, once', () => {
    replace(one('first'));
    const { names, told } = open();
    replace('scenarios: [{ name: broken, outcome: explode }]\n');
    expect(names()).toEqual(['first']);
    expect(names()).toEqual(['first']);
    rmSync(file);
    expect(names()).toEqual(['first']);
    expect(told).toEqual([
      expect.stringMatching(/^line 1: scenarios\.0\.outcome: /),
      expect.stringContaining('ENOENT'),
    ]);
    replace(one('third'));
    expect(names()).toEqual(['third']);
  });

  it('stops the start when it is wrong', () => {
    replace('scenarios: 7\n');
    expect(open).toThrow(/line 1: scenarios: /);
  });
});
