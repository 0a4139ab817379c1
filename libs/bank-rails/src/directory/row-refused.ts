/** The problem of one row of a participant list. The column counts from 1. It repeats nothing of the file. */
export class RowRefused extends Error {
  override readonly name = 'RowRefused';
  constructor(
    readonly column: number,
    readonly problem: string,
  ) {
    super(problem);
  }
}
