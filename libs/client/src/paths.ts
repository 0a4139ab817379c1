/**
 * An id as a part of a path. An empty one would ask for the whole list, `..` for something else
 * altogether.
 *
 * @throws TypeError
 */
export function inPath(name: string, id: string): string {
  if (!/^[\w-]+$/.test(id)) throw new TypeError(`${name} is not an id`);
  return id;
}
