/**
 * Finds markers in texts of any size in one pass (Aho-Corasick): in the clear and in base64, base64url, hexadecimal
 * and JSON or URL escapes, in lower case, in capitals and capitalized.
 */
import { capital, type Marker } from './markers.js';

export class MarkerSearch {
  /** Of texts in lower case. */
  private readonly folded = new Patterns();
  /** Base64 has letters of both cases. */
  private readonly base64 = new Patterns();

  constructor(private readonly markers: readonly Marker[]) {
    for (const [index, { text }] of markers.entries()) {
      this.folded.add(text, index);
      for (const spelled of new Set([text, capital(text), text.toUpperCase()])) {
        this.folded.add(Buffer.from(spelled).toString('hex'), index);
        for (const offset of [0, 1, 2]) this.base64.add(base64At(spelled, offset), index);
      }
    }
    this.folded.complete();
    this.base64.complete();
  }

  in(text: string): readonly Marker[] {
    const found = new Set<number>();
    this.folded.find(unescaped(text).toLowerCase(), found);
    this.base64.find(text.replaceAll('-', '+').replaceAll('_', '/'), found);
    return [...found].flatMap((index) => this.markers[index] ?? []);
  }
}

/** A serializer may escape any character, also those that need no escape. */
function unescaped(text: string): string {
  return text.replaceAll(
    /\\+u00([2-7][0-9a-f])|%([2-7][0-9a-f])/gi,
    (_all, ofJson?: string, ofUrl?: string) =>
      String.fromCharCode(Number.parseInt(ofJson ?? ofUrl ?? '', 16)),
  );
}

/** The characters that a text has in base64 when it begins `offset` bytes after a multiple of three. */
function base64At(text: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
  const first = Math.ceil((offset * 8) / 6);
  const end = Math.floor((bytes.length * 8) / 6);
  return bytes.toString('base64').slice(first, end);
}

/** ASCII. Any other character ends what may have begun. */
const characters = 128;
const root = 0;

/** Patterns of ASCII as an automaton: one step for each character of a text, whatever the number of patterns. */
class Patterns {
  /** The next state by state and character. Before `complete`, 0 is none. */
  private steps = new Int32Array(characters);
  private states = 1;
  private readonly endings = new Map<number, number[]>();
  /** 1 for each state of `endings`. */
  private isEnding = new Uint8Array();

  add(pattern: string, value: number): void {
    let state = root;
    for (const character of Buffer.from(pattern)) {
      const at = state * characters + character;
      let next = this.steps[at] ?? root;
      if (next === root) {
        next = this.newState();
        this.steps[at] = next;
      }
      state = next;
    }
    this.endings.set(state, [...(this.endings.get(state) ?? []), value]);
  }

  /** After the last pattern: where nothing follows, the longest end of what was read that begins a pattern. */
  complete(): void {
    const { steps } = this;
    const fallback = new Int32Array(this.states);
    const queue = [root];
    for (const state of queue) {
      const behind = fallback[state] ?? root;
      const inherited = state === root ? undefined : this.endings.get(behind);
      if (inherited !== undefined)
        this.endings.set(state, [...(this.endings.get(state) ?? []), ...inherited]);
      for (let character = 0; character < characters; character += 1) {
        const next = steps[state * characters + character] ?? root;
        const other = state === root ? root : (steps[behind * characters + character] ?? root);
        if (next === root) steps[state * characters + character] = other;
        else {
          fallback[next] = other;
          queue.push(next);
        }
      }
    }
    this.isEnding = new Uint8Array(this.states);
    for (const state of this.endings.keys()) this.isEnding[state] = 1;
  }

  /** Adds the values of all patterns in the text. */
  find(text: string, found: Set<number>): void {
    let state = root;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      state = code < characters ? (this.steps[state * characters + code] ?? root) : root;
      if (this.isEnding[state] === 1)
        for (const value of this.endings.get(state) ?? []) found.add(value);
    }
  }

  private newState(): number {
    const state = this.states;
    this.states += 1;
    if (this.states * characters > this.steps.length) {
      const larger = new Int32Array(this.steps.length * 2);
      larger.set(this.steps);
      this.steps = larger;
    }
    return state;
  }
}
