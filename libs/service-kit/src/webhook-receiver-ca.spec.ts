import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { webhookReceiverCa } from './composition.js';

const folder = mkdtempSync(join(tmpdir(), 'pis-webhook-ca-'));
afterAll(() => rmSync(folder, { recursive: true }));

const [certificate = '', another = ''] = getCACertificates('bundled');

function caIn(text: string) {
  const file = join(folder, 'ca.pem');
  writeFileSync(file, text);
  return webhookReceiverCa({ PIS_WEBHOOK_CA_FILE: file });
}

it('reads the certificates, with any text around them', () => {
  const bundle = `# ours\n${certificate}\n# theirs\n${another}\n`;
  expect(caIn(bundle)).toEqual({ extraCaPem: bundle });
  expect(webhookReceiverCa({ PIS_WEBHOOK_CA_FILE: undefined })).toEqual({});
});

// TLS itself would skip all of these without a word.
it.each([
  ['nothing', ''],
  ['another text', 'not a certificate'],
  ['a certificate that was cut off', certificate.slice(0, 400)],
  ['a second certificate that was cut off', `${certificate}\n${another.slice(0, 400)}`],
])('refuses a file with %s', (_, text) => {
  expect(() => caIn(text)).toThrow('PIS_WEBHOOK_CA_FILE: must hold whole certificates in PEM');
});
