/** Every view of the pages of payment links before axe, in each language, on each kind of screen, in both themes. */
import type { Browser } from 'playwright-core';
import { type PagesServer, startPages } from '../apps/payment-pages/src/testing/pages-server.js';
import { textsIn } from '../apps/payment-pages/src/texts/texts-in.js';
import { describeInBrowser, openBrowser } from './support/browser.js';
import { phone } from './support/payer.js';
import { openView, pageViews } from './support/payment-page-views.js';
import { looks, WatchedPage } from './support/watched-page.js';

const limitMs = 480_000;
const bytesMax = 50_000;

const devices = { phone, desktop: looks.desktop };
const languages = { en: 'en-US', es: 'es-MX' } as const;
const themes = ['light', 'dark'] as const;

describeInBrowser('Every view of the pages of payment links', () => {
  let browser: Browser;
  let plain: PagesServer;
  /** One of each kind. A new one for each view would take twice the time. */
  const pages: { device: string; language: keyof typeof languages; watched: WatchedPage }[] = [];
  beforeAll(async () => {
    browser = await openBrowser();
    plain = await startPages();
    for (const [device, options] of Object.entries(devices))
      for (const language of ['en', 'es'] as const) {
        const locale = languages[language];
        const own = { ...options, locale, origin: plain.url, mayRefuse: true };
        pages.push({ device, language, watched: await WatchedPage.open(browser, own) });
      }
  }, limitMs);
  afterAll(async () => {
    await browser?.close();
    await plain?.close();
  });

  it.each(Object.entries(pageViews))(
    'is accessible (WCAG 2.2 AA), fits the screen and loads less than 50 KB in English and Spanish, on a phone and a desktop, light and dark: %s',
    async (name, view) => {
      const { settings } = view;
      const server = settings === undefined ? plain : await startPages({ changes: settings });
      try {
        for (const { device, language, watched: last } of pages) {
          const { page } = last;
          await page.emulateMedia({ colorScheme: 'light' });
          const watched = await last.again({ origin: server.url, mayFail: view.status >= 500 });
          const { loaded, end } = await bytesLoaded(watched);
          await openView(page, server, view, textsIn[language]);
          expect(await page.locator('html').getAttribute('lang')).toBe(language);
          for (const colorScheme of themes) {
            await page.emulateMedia({ colorScheme });
            await watched.expectSound();
            if (language === 'en') await watched.screenshot(`pay-${name}-${device}-${colorScheme}`);
          }
          expect(loaded()).toBeGreaterThan(0);
          expect(loaded()).toBeLessThan(bytesMax);
          await end();
        }
      } finally {
        if (server !== plain) await server.close();
      }
    },
    limitMs,
  );
});

/** What comes over the network for a page until `end`, headers included, as Chromium counts it. Nothing is cached. */
async function bytesLoaded({ page }: WatchedPage) {
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await session.send('Network.enable');
  return { loaded: () => bytes, end: () => session.detach() };
}
