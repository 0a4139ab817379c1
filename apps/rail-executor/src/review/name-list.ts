/**
 * A list of names to screen against, for example a sanctions list. Names are compared without accents, case,
 * punctuation and word order. A full stop or an apostrophe counts as nothing and as a space. Latin, Greek and
 * Cyrillic letters are spelled in ASCII, as the rails spell them. Letters of other scripts are compared as they are;
 * they are also left out, because a bank gets a full stop for each. A word counts as found if it differs in a letter
 * or two. The score is the share of letters of both names that are in words that were found: 1 is the same name.
 *
 * A name that is the same after normalization is always found. Memory and time are bounded: a list has at
 * most entriesMax names, and only names that share a similar word with the searched one are compared.
 */
import { spellingOf } from '@pis/bank-rails/iso20022';

export interface ListedName {
  /** The line number when the list gives none. */
  readonly id: string;
  readonly name: string;
}

export interface Match {
  readonly entry: ListedName;
  /** Above 0, up to 1. */
  readonly score: number;
}

const entriesMax = 100_000;
const nameMax = 300;
const wordsMax = 20;
/** The most similar candidates by shared words are scored. */
const candidatesMax = 500;
/** Entries that the words of a name propose, at most. The rarest word always counts. */
const proposalsMax = 20_000;
/** Words from this length on are also found with one letter missing, wrong or added. */
const fuzzyFromLength = 4;

interface Indexed extends ListedName {
  readonly words: readonly string[];
}

export class NameList {
  private readonly entries: readonly Indexed[];
  /** Indexes of entries by a form of one of their words. */
  private readonly byForm = new Map<string, number[]>();
  private readonly bySpelling = new Map<string, number>();

  constructor(names: readonly ListedName[]) {
    this.entries = names.flatMap((listed) =>
      wordsOfSpellings(listed.name).map((words) => ({ ...listed, words })),
    );
    for (const [index, { words }] of this.entries.entries()) {
      this.bySpelling.set(words.join(' '), index);
      const forms = new Set(words.flatMap(formsOf));
      for (const form of forms) {
        const known = this.byForm.get(form);
        if (known === undefined) this.byForm.set(form, [index]);
        else known.push(index);
      }
    }
  }

  /** The most similar entry with at least this score; null when there is none. */
  best(name: string, scoreMin: number): Match | null {
    let best: Match | null = null;
    for (const words of wordsOfSpellings(name, { asAtBank: true })) {
      const match = this.bestOfWords(words, scoreMin);
      if (match !== null && match.score > (best?.score ?? 0)) best = match;
    }
    return best;
  }

  private bestOfWords(words: readonly string[], scoreMin: number): Match | null {
    const same = this.entries[this.bySpelling.get(words.join(' ')) ?? -1];
    if (same !== undefined) return { entry: same, score: 1 };
    let best: Match | null = null;
    for (const index of this.candidates(words)) {
      const entry = this.entries[index];
      if (entry === undefined) continue;
      const score = similarity(words, entry.words);
      if (score >= scoreMin && score > (best?.score ?? 0)) best = { entry, score };
    }
    return best;
  }

  /** Of the rarest words first, so that a name of many common words costs no more than another one. */
  private candidates(words: readonly string[]): readonly number[] {
    const proposed = [...new Set(words)]
      .map((word) => ({ word, lists: formsOf(word).map((form) => this.byForm.get(form) ?? []) }))
      .map((proposal) => ({ ...proposal, size: lengthOf(proposal.lists) }))
      .sort((a, b) => a.size - b.size);
    const shared = new Map<number, number>();
    let left = proposalsMax;
    for (const { word, lists, size } of proposed) {
      left -= size;
      if (left < 0 && shared.size > 0) break;
      for (const index of new Set(lists.flat()))
        shared.set(index, (shared.get(index) ?? 0) + word.length);
    }
    return [...shared]
      .sort(([, a], [, b]) => b - a)
      .slice(0, candidatesMax)
      .map(([index]) => index);
  }
}

/**
 * One name a line, after an id and a semicolon where the list has ids. Empty lines and lines that begin with
 * # are left out.
 * @throws Error that names the line
 */
export function namesIn(text: string): readonly ListedName[] {
  const names: ListedName[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const parts = /^([^;]*);(.*)$/.exec(trimmed);
    const name = (parts?.[2] ?? trimmed).trim();
    const id = parts?.[1]?.trim() || `line ${index + 1}`;
    if (wordsOfSpellings(name).length === 0) throw new Error(`line ${index + 1} has no name`);
    if (name.length > nameMax)
      throw new Error(`line ${index + 1} is longer than ${nameMax} characters`);
    if (names.length === entriesMax)
      throw new Error(`line ${index + 1}: a list has at most ${entriesMax} names`);
    names.push({ id, name });
  }
  return names;
}

/** Letters with a second common spelling. The other spelling is that of the rails. */
const secondSpellings: Readonly<Record<string, string>> = {
  ...{ ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe', å: 'aa' },
  ...{ ё: 'yo', й: 'y', ї: 'yi', υ: 'u', ύ: 'u' },
};
const withSecondSpelling = new RegExp(`[${Object.keys(secondSpellings).join('')}]`, 'g');

/** Marks within a word, as in O'Brien and S.A., or between words, as in John.Smith: nobody knows which. */
const marks = /['`.]/g;

/**
 * The words of a name as the rails spell it, of its second spelling where it has one, and with its marks within words
 * and between them.
 * @param options.asAtBank also without letters that have no spelling: a bank gets a full stop for each of them
 */
function wordsOfSpellings(name: string, { asAtBank = false } = {}): readonly (readonly string[])[] {
  const composed = name.slice(0, nameMax).normalize('NFC').toLowerCase();
  const second = composed.replaceAll(
    withSecondSpelling,
    (letter) => secondSpellings[letter] ?? letter,
  );
  const spelled = [composed, second].flatMap((text) => [
    spelledIn(text, (letter) => letter),
    ...(asAtBank ? [spelledIn(text, () => '.')] : []),
  ]);
  const texts = spelled.flatMap((text) => [
    text.replaceAll(marks, ''),
    text.replaceAll(marks, ' '),
  ]);
  const found = texts.map(wordsIn).filter(({ length }) => length > 0);
  return [...new Map(found.map((words) => [words.join(' '), words])).values()];
}

function spelledIn(name: string, ofUnspelled: (letter: string) => string): string {
  let plain = '';
  for (const letter of name.normalize('NFKD')) plain += spellingOf(letter) ?? ofUnspelled(letter);
  return plain.toLowerCase();
}

/** In the order of the alphabet, because the order of words differs between sources. */
function wordsIn(text: string): readonly string[] {
  return text
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .slice(0, wordsMax)
    .sort();
}

/** Two words with one letter of difference have a form in common. */
function formsOf(word: string): readonly string[] {
  if (word.length < fuzzyFromLength) return [word];
  const letters = [...word];
  return [word, ...letters.map((_, index) => letters.toSpliced(index, 1).join(''))];
}

/** Each word is paired with the most similar one that is left. */
function similarity(a: readonly string[], b: readonly string[]): number {
  const left = [...b];
  const all = lengthOf(a) + lengthOf(b);
  let found = 0;
  for (const word of [...a].sort((x, y) => y.length - x.length)) {
    let best = -1;
    let bestScore = 0;
    for (const [index, other] of left.entries()) {
      const score = wordSimilarity(word, other);
      if (score > bestScore) [best, bestScore] = [index, score];
    }
    const [paired] = best === -1 ? [] : left.splice(best, 1);
    if (paired !== undefined) found += bestScore * (word.length + paired.length);
  }
  return found / all;
}

function lengthOf(parts: readonly { readonly length: number }[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** 1 for the same word, 0 for words that differ in more than two letters or a third of them. */
function wordSimilarity(a: string, b: string): number {
  if (a === b) return 1;
  const longer = Math.max(a.length, b.length);
  const editsMax = Math.min(2, Math.floor(longer / 3));
  if (longer - Math.min(a.length, b.length) > editsMax) return 0;
  const edits = editDistance(a, b);
  return edits > editsMax ? 0 : 1 - edits / longer;
}

/** Levenshtein's. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
