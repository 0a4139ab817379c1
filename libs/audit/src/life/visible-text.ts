/**
 * Texts of strangers for a terminal or a page: names of files come from banks, errors from receivers of webhooks. A
 * control character would clear the screen or forge a line, and a change of direction shows another text than there is.
 */

/** Control and format characters as `\u{…}`, line ends too. */
export function visibleText(text: string): string {
  return text.replace(hidden, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

/** The same of JSON, as an escape that a parser reads as the character. */
export function visibleJson(json: string): string {
  return json.replace(hidden, (one) =>
    Array.from({ length: one.length }, (_, at) => {
      const unit = one.charCodeAt(at).toString(16).padStart(4, '0');
      return `\\u${unit}`;
    }).join(''),
  );
}

const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
