/** In which language a reader gets the pages: as asked in the address, or as the browser prefers. */
import type { FastifyRequest } from 'fastify';

export const languages = ['en', 'es'] as const;
export type Language = (typeof languages)[number];

/** More is no browser's list. */
const preferencesMax = 50;

export function languageOf({
  query,
  headers,
}: Pick<FastifyRequest, 'query' | 'headers'>): Language {
  const { lang } = (query ?? {}) as { readonly lang?: unknown };
  const asked = languages.find((language) => language === lang);
  return asked ?? preferred(headers['accept-language']) ?? 'en';
}

/** RFC 9110, section 12.5.4: `es-MX,es;q=0.9,en;q=0.8`. */
function preferred(header: string | undefined): Language | undefined {
  const preferences = (header ?? '')
    .split(',', preferencesMax)
    .map((part) => {
      const [range = '', ...parameters] = part.split(';').map((text) => text.trim());
      const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      const [primary = ''] = range.toLowerCase().split('-');
      return { language: languages.find((known) => known === primary), quality: Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality);
  return preferences.find(({ language }) => language !== undefined)?.language;
}
