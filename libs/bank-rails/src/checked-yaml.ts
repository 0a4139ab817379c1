/**
 * Reads a YAML file that an operator wrote, and checks it against a schema. Each problem names its line and
 * its path. Duplicate keys are refused. Messages contain no values except unknown keys, because a file may
 * hold secrets by mistake.
 */
import { isNode, LineCounter, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';

export type CheckedYaml<Value> =
  | { readonly value: Value }
  | { readonly problems: readonly string[] };

/** The largest file that is read, in characters. */
const yamlMaxChars = 1_000_000;
/** How many nodes aliases may make, so that a small file cannot expand without limit. */
const aliasesMax = 100;
const problemsMax = 20;

export function checkedYaml<Value>(text: string, schema: z.ZodType<Value>): CheckedYaml<Value> {
  if (text.length > yamlMaxChars)
    return { problems: [`the file has more than ${yamlMaxChars} characters`] };
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0)
    return {
      problems: document.errors
        .slice(0, problemsMax)
        .map(({ pos, code }) => `line ${lines.linePos(pos[0]).line}: not valid YAML (${code})`),
    };
  let content: unknown;
  try {
    content = document.toJS({ maxAliasCount: aliasesMax });
  } catch {
    return { problems: ['too many aliases'] };
  }
  const parsed = schema.safeParse(content);
  if (parsed.success) return { value: parsed.data };
  return {
    problems: parsed.error.issues.slice(0, problemsMax).map(({ path, message }) => {
      const place = path.length === 0 ? 'the file' : path.join('.');
      return `line ${lineOf(document, lines, path)}: ${place}: ${message}`;
    }),
  };
}

/** The line of the innermost node on the path that exists; a missing key has the line of its parent. */
function lineOf(
  document: Document.Parsed,
  lines: LineCounter,
  path: readonly PropertyKey[],
): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}
