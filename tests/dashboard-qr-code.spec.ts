/** The QR code of a payment link, as a camera sees it on the screen: an independent reader finds the URL in the picture. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { browserPath } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import { headed } from './support/payer.js';
import { requestedLink } from './support/requested-link.js';
import { looks, type Look } from './support/watched-page.js';

const limitMs = 240_000;
const hasReader = spawnSync('zbarimg', ['--version']).status === 0;
const canRun = hasReader && browserPath !== undefined;
const whyNot = canRun ? '' : ' (skipped: Chromium or zbarimg is not on the PATH)';

(canRun ? describe : describe.skip)(`The QR code of a payment link${whyNot}`, () => {
  let scenario: DashboardScenario;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'pis-qr-'));
    scenario = await startDashboard();
  }, limitMs);
  afterAll(async () => {
    await scenario?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(Object.keys(looks) as Look[])(
    'holds the URL that leads to the page of the payer (%s)',
    async (look) => {
      const { paymentId, url } = await requestedLink(scenario);
      const watched = await scenario.signedIn('operator', `/dashboard/payments/${paymentId}`, look);
      const { page } = watched;
      const code = page.getByRole('img', { name: 'QR code of the URL' });
      await code.waitFor();
      expect(await page.locator('code.link-url').textContent()).toBe(url);
      const picture = path.join(folder, `${look}.png`);
      await code.screenshot({ path: picture });
      const read = readQrCode(picture);
      expect(read).toBe(url);
      watched.expectQuiet();
      await watched.close();

      const payer = await scenario.open(new URL(read).pathname, 'phone');
      await headed(payer.page, 'Payment details');
      await payer.close();
    },
    limitMs,
  );
});

/** @throws if there is none, or more than one */
function readQrCode(picture: string): string {
  const { status, stdout, stderr } = spawnSync(
    'zbarimg',
    ['--quiet', '--raw', '-Sdisable', '-Sqrcode.enable', picture],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] } },
  );
  const [text, ...more] = stdout.trimEnd().split('\n');
  if (status !== 0 || text === undefined || more.length > 0)
    throw new Error(`zbarimg: ${String(status)} ${stdout}${stderr}`);
  return text;
}
