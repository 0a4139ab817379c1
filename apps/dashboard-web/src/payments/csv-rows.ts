/** Counts the records of a CSV file that arrives in pieces. A line break within quotes ends no record. */
const quote = 0x22;
const lineFeed = 0x0a;

export class CsvRows {
  private isQuoted = false;
  private lines = 0;

  add(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (byte === quote) this.isQuoted = !this.isQuoted;
      else if (byte === lineFeed && !this.isQuoted) this.lines += 1;
    }
  }

  /** Without the header. */
  get count(): number {
    return Math.max(0, this.lines - 1);
  }
}
