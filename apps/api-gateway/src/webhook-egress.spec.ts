import { webhookEgress } from './webhook-egress.js';

const config = {
  PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
  PIS_WEBHOOK_CA_FILE: undefined,
  PIS_WEBHOOK_EGRESS_PROXY: undefined,
};

it('webhooks use the configured proxy, and none by default', () => {
  expect(webhookEgress(config)([])).toEqual({ allowedNetworks: ['127.0.0.0/8'], ownHosts: [] });
  const proxy = 'https://user:secret@proxy.example:3128';
  const bank = { host: 'sftp.bank.example', port: 22 };
  expect(webhookEgress({ ...config, PIS_WEBHOOK_EGRESS_PROXY: proxy })([bank])).toMatchObject({
    egressProxy: proxy,
    ownHosts: [{ host: 'proxy.example', port: 3128 }, bank],
  });
});
