/** A page in the browser that notes what a user would not see: errors, blocked content, foreign hosts. */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { root } from './process.js';

const shownLimitMs = 30_000;
/** For people. No test compares them. Git ignores the folder. */
const pictures = path.join(root, '.cache', 'screenshots');
const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);
const axeTags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

const desktop = { viewport: { width: 1_280, height: 900 } };
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** How a page is looked at. */
export const looks = {
  desktop,
  dark: { ...desktop, colorScheme: 'dark' },
  phone,
  darkPhone: { ...phone, colorScheme: 'dark' },
} as const satisfies Record<string, BrowserContextOptions>;
export type Look = keyof typeof looks;

/** What a watched page listens to. */
const pageEvents = ['request', 'pageerror', 'requestfailed', 'response', 'console'] as const;

interface Axe {
  run(options: object): Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string }[];
    }[];
  }>;
}

export interface AccessibilityProblem {
  /** The rule of axe. */
  readonly id: string;
  /** The elements, as HTML. */
  readonly nodes: readonly string[];
}

export interface Loaded {
  readonly bytes: number;
  /** Whether all requests so far have ended. */
  readonly isComplete: boolean;
}

export interface WatchedPageOptions extends BrowserContextOptions {
  /** The origin of the page. Requests to any other are foreign. */
  readonly origin: string;
  /** Refused calls are part of some pages. Chromium reports each as an error. */
  readonly mayRefuse?: boolean;
  /** The page itself is that of a failure: 500 or above. */
  readonly mayFail?: boolean;
}

export class WatchedPage {
  /** Errors in the browser: thrown, blocked by the content security policy, not found. */
  readonly complaints: string[] = [];
  /** The origins of all requests of the page. */
  readonly origins = new Set<string>();

  private constructor(
    readonly page: Page,
    private readonly options: WatchedPageOptions,
  ) {
    page.setDefaultTimeout(shownLimitMs);
    page.on('request', (request) => this.origins.add(originOf(request.url())));
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText ?? '';
      // The page itself ended the request, for example because it was left.
      if (reason === 'net::ERR_ABORTED') return;
      this.complaints.push(`failed: ${request.url()} ${reason}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 500 && options.mayFail !== true)
        this.complaints.push(`${response.status()}: ${response.url()}`);
    });
    page.on('console', (message) => {
      if (message.type() !== 'error') return;
      const text = message.text();
      if (options.mayRefuse === true && text.startsWith('Failed to load resource')) return;
      this.complaints.push(text);
    });
  }

  /** A new page with cookies of its own. In English, unless the options say otherwise. */
  static async open(browser: Browser, options: WatchedPageOptions): Promise<WatchedPage> {
    const { origin: _, mayRefuse: __, mayFail: ___, ...context } = options;
    const own = await browser.newContext({ locale: 'en-US', ...context });
    return new WatchedPage(await own.newPage(), options);
  }

  /**
   * The same page for another visitor, without cookies, cache and what it noted so far. Costs a fraction of a new page:
   * the browser has a process for it, which has compiled axe.
   */
  async again(options: Partial<WatchedPageOptions>): Promise<WatchedPage> {
    for (const event of pageEvents) this.page.removeAllListeners(event);
    await this.page.context().clearCookies();
    const session = await this.page.context().newCDPSession(this.page);
    await session.send('Network.clearBrowserCache');
    await session.detach();
    return new WatchedPage(this.page, { ...this.options, ...options });
  }

  /** The value of an expression in the page. Text, because the names of a browser are unknown here. */
  value<Value>(expression: string): Promise<Value> {
    return this.page.evaluate(expression);
  }

  /**
   * What comes over the network from now on, compressed as it is sent and with its headers, as Chromium counts it. A
   * new page has nothing cached. The stream of live updates does not end and does not count.
   */
  async loaded(): Promise<Loaded> {
    const session = await this.page.context().newCDPSession(this.page);
    const open = new Set<string>();
    let bytes = 0;
    session.on('Network.requestWillBeSent', ({ requestId, type }) => {
      if (type !== 'EventSource') open.add(requestId);
    });
    session.on('Network.loadingFailed', ({ requestId }) => open.delete(requestId));
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      open.delete(requestId);
      bytes += encodedDataLength;
    });
    await session.send('Network.enable');
    return {
      get bytes() {
        return bytes;
      },
      get isComplete() {
        return bytes > 0 && open.size === 0;
      },
    };
  }

  /** Problems that axe finds. The debugger's protocol runs it: the content security policy would not let the page. */
  async accessibilityProblems(): Promise<readonly AccessibilityProblem[]> {
    await this.settled();
    // Until the page is loaded again, it has what an earlier check gave it.
    if (!(await this.value<boolean>("'axe' in globalThis"))) await this.page.evaluate(axeSource);
    // Only its findings: axe also reports each element that passed, and passing that on takes longer than to check it.
    return this.page.evaluate(async (values) => {
      const { axe } = globalThis as unknown as { axe: Axe };
      const { violations } = await axe.run({ runOnly: { type: 'tag', values } });
      return violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }));
    }, axeTags);
  }

  /** Fails if there was an error or a request to another host. */
  expectQuiet(): void {
    expect(this.complaints).toEqual([]);
    const inline = ['data:', 'blob:'];
    const foreign = [...this.origins].filter((one) => !inline.includes(one));
    expect(foreign).toEqual([this.options.origin]);
  }

  /** Quiet, accessible (WCAG 2.2 AA), one main landmark, and not wider than the screen. */
  async expectSound(): Promise<void> {
    expect(await this.accessibilityProblems()).toEqual([]);
    expect(await this.page.getByRole('main').count()).toBe(1);
    const [shown, whole] = await this.value<readonly [number, number]>(
      '[document.documentElement.clientWidth, document.documentElement.scrollWidth]',
    );
    expect({ width: whole }).toEqual({ width: shown });
    this.expectQuiet();
  }

  /** Writes `.cache/screenshots/<name>.png`. */
  async screenshot(name: string, { fullPage = true } = {}): Promise<void> {
    mkdirSync(pictures, { recursive: true });
    await this.settled();
    await this.page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage });
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  /** Resolves when transitions have ended. Half-faded text has too little contrast. */
  private async settled(): Promise<void> {
    await this.value(`Promise.allSettled(document.getAnimations()
      .filter(({ effect }) => Number.isFinite(effect?.getComputedTiming().endTime))
      .map(({ finished }) => finished)).then(() => undefined)`);
  }
}

/** `data:` and `blob:` have no origin. */
function originOf(url: string): string {
  const { origin, protocol } = new URL(url);
  return origin === 'null' || protocol === 'blob:' ? protocol : origin;
}
