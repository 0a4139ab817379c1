/** Every view of the pages of payment links before axe, in each language, on each kind of screen, in both themes. */
import type { Browser } from 'playwright-core';
import { startPages } from '../apps/payment-pages/src/testing/pages-server.js';
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
  beforeAll(async () => {
    browser = await openBrowser();
  }, limitMs);
  afterAll(() => browser?.close());

  it.each(Object.entries(pageViews))(
    'is accessible (WCAG 2.2 AA), fits the screen and loads less than 50 KB in English and Spanish, on a phone and a desktop, light and dark: %s',
    async (name, view) => {
      const server = await startPages(
        view.settings === undefined ? {} : { changes: view.settings },
      );
      try {
        for (const [device, options] of Object.entries(devices))
          for (const [language, locale] of Object.entries(languages)) {
            const watched = await WatchedPage.open(browser, {
              ...options,
              locale,
              origin: server.url,
              mayRefuse: true,
              mayFail: view.status >= 500,
            });
            const { page } = watched;
            const loaded = await bytesLoaded(watched);
            await openView(page, server, view, textsIn[language as keyof typeof languages]);
            expect(await page.locator('html').getAttribute('lang')).toBe(language);
            for (const colorScheme of themes) {
              await page.emulateMedia({ colorScheme });
              await watched.expectSound();
              if (language === 'en')
                await watched.screenshot(`pay-${name}-${device}-${colorScheme}`);
            }
            expect(loaded()).toBeGreaterThan(0);
            expect(loaded()).toBeLessThan(bytesMax);
            await watched.close();
          }
      } finally {
        await server.close();
      }
    },
    limitMs,
  );
});

/** What came over the network for a page, headers included, as Chromium counts it. A new page has nothing cached. */
async function bytesLoaded({ page }: WatchedPage): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await session.send('Network.enable');
  return () => bytes;
}
