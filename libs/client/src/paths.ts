/**
 * An ID as a part of a path. An empty one would request the whole list, and `..` another path.
 *
 * @throws TypeError
 */
export function inPath(name: string, id: string): string {
  if (!/^[\w-]+$/.test(id)) throw new TypeError(`${name} is not an id`);
  return id;
}
