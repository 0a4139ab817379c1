/**
 * The characters that the rails take: printable ASCII. That is the extended character set of CBPR+, which
 * Fedwire shares, and what the instant rails accept in names and remittance information
 * (docs/rails-iso20022.md).
 *
 * Other text is transliterated: accents are dropped, Latin, Greek and Cyrillic letters are spelled in ASCII,
 * typographic marks become their plain form. A character without a spelling becomes a full stop, as in
 * SWIFT's own translation rules. A name that has no letter or digit left cannot be sent.
 */

/** Single line of printable ASCII, cut to `max` characters. Empty when nothing is left. */
export function railText(text: string, max: number): string {
  if (printable.test(text)) return tidied(text, max);
  let out = '';
  for (const character of text.normalize('NFKD')) {
    if (out.length > 4 * max) break;
    out += spellingOf(character) ?? '.';
  }
  return tidied(out, max);
}

const printable = /^[\x20-\x7e]*$/;

function tidied(text: string, max: number): string {
  return text.replaceAll(/ {2,}/g, ' ').trim().slice(0, max).trimEnd();
}

/** As railText; null when no letter or digit is left. */
export function railName(name: string): string | null {
  const text = railText(name, nameMax);
  return /[0-9A-Za-z]/.test(text) ? text : null;
}

/** Max140Text. */
export const nameMax = 140;

/**
 * A character of a text in NFKD, spelled in printable ASCII; '' for a mark that is dropped. Null for a character
 * without a spelling.
 */
export function spellingOf(character: string): string | null {
  if (/^[\x20-\x7e]$/.test(character)) return character;
  if (/^\p{M}$/u.test(character)) return '';
  if (/^[\s\p{Zs}]$/u.test(character)) return ' ';
  if (/^[\p{Cc}\p{Cf}]$/u.test(character)) return '';
  const lower = spellings[character];
  if (lower !== undefined) return lower;
  const small = spellings[character.toLowerCase()];
  return small === undefined ? null : small.charAt(0).toUpperCase() + small.slice(1);
}

/** Of small letters and of marks. A capital letter is spelled like its small one, with a capital. */
const spellings: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ħ: 'h', ı: 'i' },
  ...{ ŧ: 't', ŋ: 'n', ĸ: 'k', ə: 'e', ƒ: 'f' },
  ...{ '‘': "'", '’': "'", '‚': "'", '‛': "'", ʼ: "'", ʻ: "'", '′': "'", '‹': '<', '›': '>' },
  ...{ '“': '"', '”': '"', '„': '"', '″': '"', '«': '"', '»': '"' },
  ...{ '‐': '-', '‑': '-', '‒': '-', '–': '-', '—': '-', '―': '-', '−': '-' },
  ...{ '•': '*', '·': '.', '×': 'x', '⁄': '/', '€': 'EUR', '£': 'GBP', '¥': 'JPY', '©': '(c)' },
  ...{ '®': '(r)', '§': 'S', '¡': '!', '¿': '?', '№': 'No' },
  ...{ α: 'a', β: 'v', γ: 'g', δ: 'd', ε: 'e', ζ: 'z', η: 'i', θ: 'th', ι: 'i', κ: 'k' },
  ...{ λ: 'l', μ: 'm', ν: 'n', ξ: 'x', ο: 'o', π: 'p', ρ: 'r', σ: 's', ς: 's', τ: 't' },
  ...{ υ: 'y', φ: 'f', χ: 'ch', ψ: 'ps', ω: 'o' },
  ...{ а: 'a', б: 'b', в: 'v', г: 'g', д: 'd', е: 'e', ж: 'zh', з: 'z', и: 'i', к: 'k' },
  ...{ л: 'l', м: 'm', н: 'n', о: 'o', п: 'p', р: 'r', с: 's', т: 't', у: 'u', ф: 'f' },
  ...{ х: 'kh', ц: 'ts', ч: 'ch', ш: 'sh', щ: 'shch', ъ: '', ы: 'y', ь: '', э: 'e', ю: 'yu' },
  ...{ я: 'ya', і: 'i', є: 'ye', ґ: 'g', ђ: 'dj', ј: 'j', љ: 'lj', њ: 'nj', ћ: 'c', џ: 'dz' },
};
