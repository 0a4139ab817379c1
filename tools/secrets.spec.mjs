/** Secrets are found, and the repository has none. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesOfRepository, secretsIn } from './secrets.mjs';
import { root } from './workspace.mjs';

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

/** Put together here, so that this file has none. */
const planted = {
  'an AWS key': `AWS_SECRET_ACCESS_KEY=${'wJalrXUtnFEMI/K7MDENG/bPxRfiCY'}${'EXAMPLEKEZ'}`,
  'a GitHub token': `token: ${'ghp_'}${'1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R'}`,
  'a private key': privateKey,
  'an API key of ours': `Authorization: Bearer ${'pis_'}live_${randomBytes(32).toString('base64url')}`,
  'a webhook secret of ours': `{ "secret": "${randomBytes(32).toString('hex')}" }`,
  'a master key of ours': `PIS_MASTER_KEY=${randomBytes(32).toString('base64')}`,
  'the token of a payment link': `https://pay.example/pay/${randomBytes(32).toString('base64url')}`,
  'a password in a URL': `postgres://pis:${'Vq8-hT2x'}@db.internal.example/pis`,
};

it.each(Object.entries(planted))('finds %s, and does not print it', (_what, text) => {
  const folder = mkdtempSync(join(tmpdir(), 'pis-secrets-'));
  try {
    writeFileSync(join(folder, 'notes.txt'), `${text}\n`);
    const found = secretsIn(['notes.txt'], folder);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain('notes.txt:1');
    expect(found[0]).not.toContain(text.trim().slice(-12));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('also looks into files that .gitignore names: they may be under version control', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pis-secrets-'));
  try {
    writeFileSync(join(folder, '.gitignore'), '*.log\n');
    writeFileSync(join(folder, 'boot.log'), `${planted['a GitHub token']}\n`);
    expect(secretsIn(['boot.log'], folder)).toHaveLength(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('leaves alone what is marked, the key of an example, and digests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pis-secrets-'));
  try {
    const lines = [
      `${planted['an API key of ours']} # secretlint-disable-line`,
      `"secret": "${'0123456789abcdef'.repeat(4)}"`,
      'KEY=pis_test_my_very_first_session',
      `sha256:${randomBytes(32).toString('hex')}`,
    ];
    writeFileSync(join(folder, 'notes.txt'), lines.join('\n'));
    expect(secretsIn(['notes.txt'], folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('keeps the settings of this machine out of version control', () => {
  expect(readFileSync(join(root, '.gitignore'), 'utf8').split('\n')).toContain('.env');
});

it('looks at all files under version control, as a step of npm run check', () => {
  const files = filesOfRepository();
  for (const file of ['.env.example', 'docker-compose.yml', '.ci/run', 'tools/secrets.spec.mjs'])
    expect(files).toContain(file);
  const check = readFileSync(join(root, 'tools/check.mjs'), 'utf8');
  expect(check).toContain("name: 'secrets', find: secrets");
});
