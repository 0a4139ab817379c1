/** The API reference at /docs in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { describeInBrowser, openBrowser } from './support/browser.js';
import { allInOne, type System } from './support/systems.js';
import { looks, WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;

interface Document {
  readonly paths: Record<string, Record<string, { readonly summary: string }>>;
  readonly tags: readonly { readonly name: string }[];
}

describeInBrowser('The reference at /docs', () => {
  let system: System;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    [system, browser] = await Promise.all([allInOne({}), openBrowser()]);
  }, limitMs);
  afterAll(async () => {
    await browser?.close();
    await system?.stop();
  });
  beforeEach(async () => {
    watched = await WatchedPage.open(browser, { ...looks.desktop, origin: system.apiUrl });
    ({ page } = watched);
    await page.goto(`${system.apiUrl}/docs`);
  });
  afterEach(() => watched?.close());

  it(
    'shows every operation of the document, and uses no other host',
    async () => {
      const answer = await fetch(`${system.apiUrl}/openapi.json`);
      const { paths, tags } = (await answer.json()) as Document;
      const sidebar = page.getByRole('complementary');
      for (const { name } of tags) {
        const open = sidebar.getByRole('button', { name: `Open Group - ${name}`, exact: true });
        await sidebar.getByRole('link', { name, exact: true }).waitFor();
        if (await open.isVisible()) await open.click();
      }
      const operations = Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { summary }]) => ({ path, method, summary })),
      );
      expect(operations.length).toBeGreaterThanOrEqual(25);
      for (const { path, method, summary } of operations)
        await sidebar
          .locator(`a[href$="/${method.toUpperCase()}${path}"]`, { hasText: summary })
          .waitFor();
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'sends a request with the entered key, and forgets the key when the page closes',
    async () => {
      await page.getByPlaceholder('Token').first().fill(system.apiKey);
      await page.getByRole('link', { name: 'List originators' }).first().click();
      await page.getByRole('button', { name: 'Test Request (get /v1/originators/)' }).click();
      const [answer] = await Promise.all([
        page.waitForResponse(`${system.apiUrl}/v1/originators/`),
        page.getByRole('button', { name: /^Send get request/ }).click(),
      ]);
      expect(answer.status()).toBe(200);
      await page.getByText('00000000-0000-4000-8000-00000000de01').waitFor();
      const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }));
      expect(stored).not.toContain(system.apiKey);
      await page.reload();
      expect(await page.getByPlaceholder('Token').first().inputValue()).toBe('');
      watched.expectQuiet();
    },
    limitMs,
  );
});
