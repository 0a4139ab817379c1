/**
 * How long a payer with a slow phone waits for the page of a link, in a real browser: four times less CPU than this
 * machine, and the network that Lighthouse uses for phones. Nothing is cached. The page is usable when it has
 * painted and its script has run.
 */
import { browserPath, openBrowser } from '../../../tests/support/browser.ts';
import { median } from '../statistics.mjs';

const cpuSlowdown = 4;
/** 150 ms a round trip, 1.6 Mbit/s down, 750 kbit/s up. */
const network = {
  offline: false,
  latency: 150,
  downloadThroughput: (1_600 * 1_000) / 8,
  uploadThroughput: (750 * 1_000) / 8,
};
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** Null where no Chromium is installed. */
export async function onSlowPhone(urls) {
  if (browserPath === undefined) return null;
  const browser = await openBrowser();
  try {
    const loads = [];
    for (const url of urls) loads.push(await load(browser, url));
    return {
      loads: loads.length,
      cpuSlowdown,
      usableMs: median(loads.map(({ usableMs }) => usableMs)),
      usableMsMax: Math.max(...loads.map(({ usableMs }) => usableMs)),
      bytes: Math.max(...loads.map(({ bytes }) => bytes)),
    };
  } finally {
    await browser.close();
  }
}

async function load(browser, url) {
  const context = await browser.newContext(phone);
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', network);
  await session.send('Emulation.setCPUThrottlingRate', { rate: cpuSlowdown });
  const response = await page.goto(url, { waitUntil: 'load' });
  if (response.status() !== 200) throw new Error(`${url}: ${response.status()}`);
  // Milliseconds since the navigation began. Module scripts run before DOMContentLoaded.
  const usableMs = await page.evaluate(`new Promise((resolve) => {
    const [navigation] = performance.getEntriesByType('navigation');
    new PerformanceObserver((list, observer) => {
      const painted = list.getEntriesByName('first-contentful-paint')[0];
      if (painted === undefined) return;
      observer.disconnect();
      resolve(Math.max(painted.startTime, navigation.domContentLoadedEventEnd));
    }).observe({ type: 'paint', buffered: true });
  })`);
  await context.close();
  return { usableMs, bytes };
}
