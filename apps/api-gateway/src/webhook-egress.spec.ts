import { webhookEgress } from './webhook-egress.js';

const config = {
  PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
  PIS_WEBHOOK_CA_FILE: undefined,
  PIS_WEBHOOK_EGRESS_PROXY: undefined,
};

it('webhooks go through the proxy as it is configured, and through none unless it is named', () => {
  expect(webhookEgress(config)).toEqual({ allowedNetworks: ['127.0.0.0/8'], ownHosts: [] });
  const proxy = 'https://user:secret@proxy.example:3128';
  expect(webhookEgress({ ...config, PIS_WEBHOOK_EGRESS_PROXY: proxy })).toMatchObject({
    egressProxy: proxy,
    ownHosts: [{ host: 'proxy.example', port: 3128 }],
  });
});
