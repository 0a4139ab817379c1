/** A map that drops the least recently used entry when it has more than `entriesMax`. */
export class BoundedMap<Key, Value extends object | string> {
  /** A Map iterates in the order of insertion: the first entry is the least recently used. */
  private readonly entries = new Map<Key, Value>();

  constructor(private readonly entriesMax: number) {}

  get(key: Key): Value | undefined {
    const value = this.entries.get(key);
    if (value === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size <= this.entriesMax) return;
    for (const oldest of this.entries.keys()) {
      this.entries.delete(oldest);
      return;
    }
  }

  delete(key: Key): void {
    this.entries.delete(key);
  }
}
