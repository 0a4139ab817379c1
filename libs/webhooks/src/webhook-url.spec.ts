import { checkWebhookUrl, type WebhookUrlOptions } from './webhook-url.js';

const resolvingTo = (...addresses: string[]): WebhookUrlOptions => ({
  allowedNetworks: [],
  lookup: () => Promise.resolve(addresses),
});
const publicHost = resolvingTo('93.184.216.34');

describe('A client registers a webhook URL', () => {
  it.each([
    'https://example.com/hook',
    'https://example.com:8443/hook?a=b#c',
    'https://bücher.example/',
    'https://8.8.8.8/hook',
    'https://[2606:2800:220:1::1]/hook',
  ])('%s is accepted', async (url) => {
    expect(await checkWebhookUrl(url, publicHost)).toBeNull();
  });

  it.each([
    ['', 'validation_url'],
    ['example.com/hook', 'validation_url'],
    ['https://', 'validation_url'],
    ['https://exa mple.com/', 'validation_url'],
    ['https://exam\nple.com/', 'validation_url'],
    [' https://example.com/', 'validation_url'],
    ['https://1.2.3.4.5/', 'validation_url'],
    ['http://example.com/hook', 'validation_url_https'],
    ['ftp://example.com/hook', 'validation_url_https'],
    ['javascript:alert(1)', 'validation_url_https'],
    ['file:///etc/passwd', 'validation_url_https'],
    ['https://user@example.com/', 'validation_url_credentials'],
    ['https://user:pass@example.com/', 'validation_url_credentials'], // secretlint-disable-line
    ['https://:pass@example.com/', 'validation_url_credentials'],
    ['https://127.0.0.1/', 'validation_url_private_address'],
    ['https://2130706433/', 'validation_url_private_address'],
    ['https://0x7f000001/', 'validation_url_private_address'],
    ['https://0x7f.1/', 'validation_url_private_address'],
    ['https://0177.0.0.1/', 'validation_url_private_address'],
    ['https://017700000001/', 'validation_url_private_address'],
    ['https://127.1/', 'validation_url_private_address'],
    ['https://0/', 'validation_url_private_address'],
    ['https://①②⑦.0.0.1/', 'validation_url_private_address'],
    ['https://127.0.0.1./', 'validation_url_private_address'],
    ['https://[::1]/', 'validation_url_private_address'],
    ['https://[::ffff:7f00:1]/', 'validation_url_private_address'],
    ['https://[::ffff:127.0.0.1]/', 'validation_url_private_address'],
    ['https://[64:ff9b::a00:1]/', 'validation_url_private_address'],
    ['https://169.254.169.254/latest/meta-data/', 'validation_url_private_address'],
    ['https://localhost/', 'validation_url_private_address'],
    ['https://LOCALHOST:443/', 'validation_url_private_address'],
    ['https://localhost./', 'validation_url_private_address'],
    ['https://api.localhost/', 'validation_url_private_address'],
  ])('%j is refused: %s', async (url, problem) => {
    expect(await checkWebhookUrl(url, publicHost)).toBe(problem);
  });

  it('cannot use a host with a private address, also among public ones', async () => {
    const url = 'https://rebind.example/';
    expect(await checkWebhookUrl(url, resolvingTo('10.0.0.1'))).toBe(
      'validation_url_private_address',
    );
    expect(await checkWebhookUrl(url, resolvingTo('8.8.8.8', '::1'))).toBe(
      'validation_url_private_address',
    );
  });

  it('may register a host that does not resolve yet', async () => {
    const lookup = () => Promise.reject(new Error('ENOTFOUND'));
    expect(
      await checkWebhookUrl('https://new.example/', { allowedNetworks: [], lookup }),
    ).toBeNull();
  });

  it('may use localhost where the operator exempts it, whichever addresses it has', async () => {
    const allowedNetworks = ['127.0.0.0/8'];
    for (const url of ['https://localhost:4000/hook', 'https://127.0.0.1:4000/hook'])
      expect(await checkWebhookUrl(url, { allowedNetworks })).toBeNull();
    expect(await checkWebhookUrl('https://10.0.0.1/', { allowedNetworks })).toBe(
      'validation_url_private_address',
    );
  });
});
