/**
 * Arrays of long texts as parameters of statements, in PostgreSQL's binary form. pg sends a Buffer as it is. An array it
 * sends as one text in which every element is escaped, and PostgreSQL reads that text character by character: for bodies
 * and sealed texts both take longer than the rest of the statement.
 */

/** OIDs of the types of elements: PostgreSQL never changes them. */
const oids = { text: 25, json: 114 } as const;

const nullLength = -1;
const int32Bytes = 4;
/** Dimensions, whether there are nulls, and the type. */
const headInts = 3;
/** Of the one dimension: the number of elements, and the index of the first. */
const dimensionInts = 2;

/**
 * The statement must cast the parameter to the array type: `$1::text[]` or `$1::json[]`.
 * @param texts a lone surrogate is replaced, as in any text that is sent. PostgreSQL refuses NUL
 */
export function binaryArray(
  type: keyof typeof oids,
  texts: readonly (string | null)[],
): Buffer<ArrayBuffer> {
  const lengths = texts.map((text) => (text === null ? 0 : Buffer.byteLength(text)));
  const ints = headInts + (texts.length === 0 ? 0 : dimensionInts + texts.length);
  const bytes = Buffer.allocUnsafe(
    lengths.reduce((sum, length) => sum + length, ints * int32Bytes),
  );
  let at = bytes.writeInt32BE(texts.length === 0 ? 0 : 1, 0);
  at = bytes.writeInt32BE(texts.includes(null) ? 1 : 0, at);
  at = bytes.writeInt32BE(oids[type], at);
  // An array without elements has no dimension.
  if (texts.length === 0) return bytes;
  at = bytes.writeInt32BE(texts.length, at);
  at = bytes.writeInt32BE(1, at);
  for (const [index, text] of texts.entries()) {
    at = bytes.writeInt32BE(text === null ? nullLength : (lengths[index] ?? 0), at);
    if (text !== null) at += bytes.write(text, at);
  }
  return bytes;
}
