/** Checks that every document, file and link target that the repository refers to exists. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { validationCodes } from '../libs/contracts/src/validation.js';
import { root } from './workspace.mjs';

/** A clone stays small. */
const pictureBytesMax = 200 * 1_024;
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const textFiles = tracked.filter((file) => /\.(md|[cm]?[jt]sx?|py|ya?ml|json|example)$/.test(file));
const read = (file) => readFileSync(join(root, file), 'utf8');

/** A document may be named from the root, from the file's own folder, or from docs/. */
function isThere(name, from) {
  return [name, join(dirname(from), name), join('docs', name)].some((path) =>
    existsSync(join(root, path)),
  );
}

/** The anchors of a document: headings as GitHub names them, and explicit ones. */
function anchorsOf(markdown) {
  const headings = [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  const explicit = [...markdown.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id);
  return new Set([...headings, ...explicit]);
}

it('refers to no missing document', () => {
  const missing = textFiles
    .filter((file) => file !== relative(root, import.meta.filename))
    .flatMap((file) =>
      [...read(file).matchAll(/(?<![\w/.*-])(?:\.{0,2}\/)?[\w-][\w./-]*\.md\b/g)]
        .map(([name]) => name.replace(/^\//, ''))
        .filter((name) => !isThere(name, file))
        .map((name) => `${file}: ${name}`),
    );
  expect(missing).toEqual([]);
});

it('has small pictures, and none that no document shows', () => {
  const pictures = tracked.filter((file) => file.endsWith('.png'));
  const documents = tracked.filter((file) => file.endsWith('.md')).map(read);
  const isShown = (file) => documents.some((text) => text.includes(`images/${basename(file)}`));
  expect(pictures.filter((file) => !isShown(file))).toEqual([]);
  expect(pictures.filter((file) => statSync(join(root, file)).size > pictureBytesMax)).toEqual([]);
});

it('contains no conflict marker', () => {
  const marked = textFiles.filter((file) => /^ *(?:<{7}|(?:> ?){7}) /m.test(read(file)));
  expect(marked).toEqual([]);
});

it('names no missing file in a document', () => {
  const missing = textFiles
    .filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md')
    .flatMap((file) =>
      [...read(file).matchAll(/`((?:apps|libs|tools|tests|docs|deploy|helm)\/[\w./-]+)`/g)]
        .map(([, path]) => path)
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${file}: ${path}`),
    );
  expect(missing).toEqual([]);
});

it('has no broken link in a document', () => {
  const broken = textFiles
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      [...read(file).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target]) => target)
        .filter((target) => !/^[a-z]+:/.test(target))
        .filter((target) => {
          const [path, anchor] = target.split('#');
          const to = path === '' ? file : join(dirname(file), path);
          if (!existsSync(join(root, to))) return true;
          return anchor !== undefined && to.endsWith('.md') && !anchorsOf(read(to)).has(anchor);
        })
        .map((target) => `${file}: ${target}`),
    );
  expect(broken).toEqual([]);
});

it('lists exactly the validation codes of the API', () => {
  const [, section] = read('docs/api-decisions.md').split('## Validation codes');
  const listed = section.split('\n## ')[0].match(/validation_\w+/g);
  expect(listed.toSorted()).toEqual(validationCodes.toSorted());
});

it('counts the files of the tour in ARCHITECTURE.md correctly', () => {
  const [, tour] = read('ARCHITECTURE.md').split(/^## The tour.*$/m);
  const [whole, ...parts] = tour.split(/^## /m)[0].split(/^(?=\*\*\w.*\*\* \(\d+ files\))/m);
  const filesIn = (text) => new Set(text.match(/`(?:apps|libs)\/[\w./-]+\.ts`/g)).size;
  const stated = parts.map((part) => Number(part.match(/\((\d+) files\)/)[1]));
  expect(parts.map(filesIn)).toEqual(stated);
  expect(filesIn(parts.join(''))).toBe(Number(whole.match(/(\d+) source files/)[1]));
});

/** The texts of the code, as one line each. What is put into one when the service runs is `…`. */
function textsOfCode() {
  const code = tracked.filter(
    (file) => /^(apps|libs)\/.*\.(ts|sql)$/.test(file) && !/\.spec\.ts$/.test(file),
  );
  const parts = code.map((file) => read(file).replace(/'\s*\+\s*['`]/g, ''));
  return parts
    .join('\n')
    .replace(/\s+/g, ' ')
    .replace(/\$\{[^}]*\}/g, '…');
}

it('quotes in runbooks only messages that the code has', () => {
  const code = textsOfCode();
  const composed = [...code.matchAll(/`([^`]*…[^`]*)`/g)].map(([, text]) => text.split('…'));
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  /** A composed message that has more than what is put in, such as `reported by … , but …`. */
  const isComposed = (quote) =>
    composed.some(
      (pieces) =>
        pieces.some((piece) => piece.trim().includes(' ')) &&
        new RegExp(`^${pieces.map(escaped).join('.+')}$`).test(quote),
    );
  const ofPostgres = ['must be owner of table events'];
  const ofCommand =
    /^(\.\/|pis |SELECT |UPDATE |TRUNCATE |GET |POST |curl |kubectl |promtool |sum |\w+ = )/;
  const has = (quote) => quote.split('…').every((piece) => code.includes(piece.trim()));
  const invented = textFiles
    .filter((file) => file.startsWith('docs/runbooks/'))
    .flatMap((file) =>
      [
        ...read(file)
          .replace(/```.*?```/gs, '')
          .matchAll(/`([^`]+)`/g),
      ]
        .map(([, quote]) => quote.replace(/\s+/g, ' '))
        .filter((quote) => quote.split(' ').length > 2 && !ofCommand.test(quote))
        .filter((quote) => !ofPostgres.includes(quote) && !has(quote))
        .filter((quote) => !isComposed(quote))
        .map((quote) => `${file}: ${quote}`),
    );
  expect(invented).toEqual([]);
});
