/**
 * What the audit remembers of each stream while it reads the log: its last revision and hash, and of a payment its status,
 * amount and originator. Kept in typed arrays, about 100 bytes a stream: a million streams take 100 MB, and objects
 * would take several times that. Nothing is ever dropped, because an event may be forged onto any stream.
 *
 * A stream is known by the first 128 bits of the SHA-256 of its name: nobody can make two names that agree in them.
 */
import { hash } from 'node:crypto';
import type { StateReader } from './state-file.js';

const keyWords = 4;
const hashBytes = 32;
const streamsInitial = 1_024;
/** Streams known by name, twice: about 2 MB. A digest takes longer than a look into a map. */
const recentMax = 8_192;
/** Streams for each place of the index, at most. */
const loadMax = 0.6;

type Rows = Int32Array | Uint8Array | Float64Array;

export class StreamTable {
  #size = 0;
  #places = new Int32Array(2 * streamsInitial);
  #keys = new Int32Array(keyWords * streamsInitial);
  #hashes = Buffer.alloc(hashBytes * streamsInitial);
  #revisions = new Int32Array(streamsInitial);
  #statuses = new Uint8Array(streamsInitial);
  #amounts = new Float64Array(streamsInitial);
  #originators = new Int32Array(streamsInitial);
  /** Rows by name of the streams seen last, in two generations: the events of a stream are near each other. */
  #recent = new Map<string, number>();
  #lessRecent = new Map<string, number>();

  /** Streams so far. */
  get size(): number {
    return this.#size;
  }

  /** The number of the stream, from 0. A new one has the revision -1 and no status. */
  rowOf(streamId: string): number {
    const recent = this.#recent.get(streamId);
    if (recent !== undefined) return recent;
    const row = this.#lessRecent.get(streamId) ?? this.#rowByDigest(streamId);
    if (this.#recent.size === recentMax) {
      this.#lessRecent = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(streamId, row);
    return row;
  }

  #rowByDigest(streamId: string): number {
    const digest = hash('sha256', streamId, 'buffer');
    const key = [0, 4, 8, 12].map((offset) => digest.readInt32LE(offset));
    const mask = this.#places.length - 1;
    let place = ((key[0] ?? 0) >>> 0) & mask;
    for (;;) {
      const row = (this.#places[place] ?? 0) - 1;
      if (row === -1) break;
      if (this.#hasKey(row, key)) return row;
      place = (place + 1) & mask;
    }
    return this.#add(place, key);
  }

  revision(row: number): number {
    return this.#revisions[row] ?? -1;
  }

  /** The hash of the last event, hex. */
  hash(row: number): string {
    return this.#hashes.toString('hex', row * hashBytes, (row + 1) * hashBytes);
  }

  setLast(row: number, revision: number, eventHash: string): void {
    this.#revisions[row] = revision;
    this.#hashes.write(eventHash, row * hashBytes, hashBytes, 'hex');
  }

  /** 0 for none; else as it was set. */
  status(row: number): number {
    return this.#statuses[row] ?? 0;
  }

  setStatus(row: number, status: number): void {
    this.#statuses[row] = status;
  }

  /** Minor units. */
  amountMinor(row: number): number {
    return this.#amounts[row] ?? 0;
  }

  originator(row: number): number {
    return this.#originators[row] ?? 0;
  }

  setMoney(row: number, amountMinor: number, originator: number): void {
    this.#amounts[row] = amountMinor;
    this.#originators[row] = originator;
  }

  /** All rows, for `restore`, as they are in memory: in the byte order of the machine. */
  *parts(): Generator<Uint8Array, void, undefined> {
    for (const rows of this.#columns()) yield bytesOf(rows);
  }

  /** Takes the rows that `parts` gave. Of an empty table. */
  async restore(size: number, reader: StateReader): Promise<void> {
    while (this.#revisions.length < size) this.#growRows();
    this.#size = size;
    for (const rows of this.#columns()) await reader.fill(bytesOf(rows));
    do this.#growPlaces();
    while (size > this.#places.length * loadMax);
  }

  /** Each up to the last row. */
  #columns(): readonly Rows[] {
    const size = this.#size;
    return [
      this.#keys.subarray(0, size * keyWords),
      this.#hashes.subarray(0, size * hashBytes),
      this.#revisions.subarray(0, size),
      this.#statuses.subarray(0, size),
      this.#amounts.subarray(0, size),
      this.#originators.subarray(0, size),
    ];
  }

  #hasKey(row: number, key: readonly number[]): boolean {
    const at = row * keyWords;
    for (let word = 0; word < keyWords; word += 1)
      if (this.#keys[at + word] !== key[word]) return false;
    return true;
  }

  #add(place: number, key: readonly number[]): number {
    const row = this.#size;
    if (row === this.#revisions.length) this.#growRows();
    this.#size += 1;
    this.#keys.set(key, row * keyWords);
    this.#revisions[row] = -1;
    this.#places[place] = row + 1;
    if (this.#size > this.#places.length * loadMax) this.#growPlaces();
    return row;
  }

  #growRows(): void {
    const rows = 2 * this.#revisions.length;
    const grown = <Column extends Rows>(to: Column, from: Column) => {
      to.set(from);
      return to;
    };
    this.#keys = grown(new Int32Array(keyWords * rows), this.#keys);
    this.#hashes = grown(Buffer.alloc(hashBytes * rows), this.#hashes);
    this.#revisions = grown(new Int32Array(rows), this.#revisions);
    this.#statuses = grown(new Uint8Array(rows), this.#statuses);
    this.#amounts = grown(new Float64Array(rows), this.#amounts);
    this.#originators = grown(new Int32Array(rows), this.#originators);
  }

  #growPlaces(): void {
    const places = new Int32Array(2 * this.#places.length);
    const mask = places.length - 1;
    for (let row = 0; row < this.#size; row += 1) {
      let place = ((this.#keys[row * keyWords] ?? 0) >>> 0) & mask;
      while (places[place] !== 0) place = (place + 1) & mask;
      places[place] = row + 1;
    }
    this.#places = places;
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Rows): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
