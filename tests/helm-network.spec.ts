/** The network policies of the Helm chart: each process reaches only what it needs. */
import { BlockList } from 'node:net';
import {
  componentOf,
  containerIn,
  describeWithHelm,
  manifestsOf,
  ofKind,
  podsOf,
  render,
  type Values,
  valuesOf,
} from './support/helm.js';

interface Policy {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
}
interface Rule {
  readonly ports?: readonly { readonly port: number | string }[];
  readonly to?: readonly unknown[];
  readonly from?: readonly unknown[];
}

describeWithHelm('the network policies of the Helm chart', () => {
  const production = () => manifestsOf('production');
  const policyOf = (component: string, manifests = production()) => {
    const found = ofKind(manifests, 'NetworkPolicy').find((one) => componentOf(one) === component);
    if (found === undefined) throw new Error(`there is no policy of ${component}`);
    return found['spec'] as Policy;
  };

  it('denies all traffic but what each process needs', () => {
    expect(policyOf('default-deny')).toEqual({
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/instance': 'pis',
          'app.kubernetes.io/name': 'payment-initiation-service',
        },
      },
      policyTypes: ['Ingress', 'Egress'],
    });
    const bank = '192.0.2.0/24';
    const reached = (component: string) => JSON.stringify(policyOf(component).egress);
    const withKafka = ['event-relay', 'rail-executor', 'webhook-dispatcher', 'migrate'];
    const withInternet = ['api-gateway', 'dashboard', 'webhook-dispatcher'];
    for (const component of podsOf(production()).keys()) {
      const text = reached(component);
      expect({ component, postgres: text.includes('10.1.0.0/24') }).toMatchObject({
        postgres: true,
      });
      expect({ component, kafka: text.includes('9093') }).toEqual({
        ...{ component, kafka: withKafka.includes(component) },
      });
      const reachesBank = text.replaceAll(/"except":\[[^\]]*\]/g, '').includes(bank);
      expect({ component, bank: reachesBank }).toEqual({
        ...{ component, bank: component === 'rail-executor' },
      });
      expect({ component, internet: text.includes('0.0.0.0/0') }).toEqual({
        ...{ component, internet: withInternet.includes(component) },
      });
      // A rule without peers would be any address.
      for (const rule of policyOf(component).egress ?? []) expect(rule.to).not.toHaveLength(0);
    }
  });

  it('leaves the banks out of the internet, also those with public addresses', () => {
    for (const component of ['api-gateway', 'dashboard', 'webhook-dispatcher']) {
      const blocks = (policyOf(component).egress ?? [])
        .flatMap(({ to = [] }) => to as { ipBlock?: { cidr: string; except?: string[] } }[])
        .flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [ipBlock]));
      const internet = blocks.find(({ cidr }) => cidr === '0.0.0.0/0');
      expect(internet?.except).toContain('192.0.2.0/24');
    }
  });

  it('leaves out of the internet what may lead into a network of the cluster, also by translation', () => {
    const blocks = (policyOf('webhook-dispatcher').egress ?? [])
      .flatMap(({ to = [] }) => to as { ipBlock?: { cidr: string; except?: string[] } }[])
      .flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [ipBlock]));
    const exceptOf = (range: string) => blocks.find(({ cidr }) => cidr === range)?.except ?? [];
    // 64:ff9b::a00:1 is 10.0.0.1, behind a NAT64 gateway.
    const inside = ['10.1.2.3', '100.64.0.1', '127.0.0.1', '169.254.169.254', '172.31.0.1'];
    inside.push('192.168.0.1', '198.18.0.1', '240.0.0.1', '64:ff9b::a00:1', 'fd00::1', 'fe80::1');
    const isExcepted = (address: string) => {
      const excepted = new BlockList();
      const family = address.includes(':') ? 'ipv6' : 'ipv4';
      for (const range of exceptOf(family === 'ipv6' ? '::/0' : '0.0.0.0/0')) {
        const [network = '', prefix = ''] = range.split('/');
        excepted.addSubnet(network, Number(prefix), family);
      }
      return excepted.check(address, family);
    };
    for (const address of inside) expect([address, isExcepted(address)]).toEqual([address, true]);
    for (const address of ['93.184.215.14', '2606:2800:21f::1'])
      expect([address, isExcepted(address)]).toEqual([address, false]);
  });

  it('takes a narrower internet as it is: the API server refuses exceptions outside of a range', () => {
    const proxy = { ipBlock: { cidr: '198.51.100.7/32' } };
    const internet = { ports: [3128], to: [proxy] };
    const manifests = render('production', { network: { targets: { internet } } });
    expect(JSON.stringify(policyOf('webhook-dispatcher', manifests).egress)).toContain(
      JSON.stringify([proxy]),
    );
  });

  it('sends webhooks to the egress proxy and not to the internet, if it has addresses', () => {
    const proxy = { ipBlock: { cidr: '10.4.0.7/32' } };
    const manifests = render('production', {
      network: { targets: { egressProxy: { to: [proxy] } } },
    });
    for (const component of podsOf(manifests).keys()) {
      const sendsWebhooks = ['api-gateway', 'dashboard', 'webhook-dispatcher'].includes(component);
      const { egress = [] } = policyOf(component, manifests);
      const rules = egress.filter(({ to }) => JSON.stringify(to) === JSON.stringify([proxy]));
      const ports = [{ port: 3128, protocol: 'TCP' }];
      expect([component, rules]).toEqual([
        component,
        sendsWebhooks ? [{ ports, to: [proxy] }] : [],
      ]);
      expect(JSON.stringify(egress)).not.toContain('0.0.0.0/0');
    }
  });

  it('lets the dashboard reach the identity provider, wherever the values name it', () => {
    const provider = { ipBlock: { cidr: '10.5.0.7/32' } };
    const network = { targets: { identityProvider: { to: [provider] } } };
    const env = { PIS_OIDC_ISSUER: 'https://login.example.com' };
    const reachesProvider = (component: string, values: Values) =>
      JSON.stringify(policyOf(component, render('production', values))).includes('10.5.0.7/32');
    for (const values of [{ env }, { services: { dashboard: { env } } }])
      expect(reachesProvider('dashboard', { ...values, network })).toBe(true);
    expect(reachesProvider('dashboard', { network })).toBe(false);
    expect(reachesProvider('payment-pages', { env, network })).toBe(false);
  });

  it('lets staff be told by mail, with TLS from the start and with STARTTLS', () => {
    const { egress = [] } = policyOf('rail-executor');
    const staff = egress.find(({ to }) => JSON.stringify(to).includes('10.3.0.0/24'));
    expect(staff?.ports?.map(({ port }) => port)).toEqual([465, 587, 443]);
  });

  it('asks the DNS of the cluster, and resolvers that the values name', () => {
    const peers = [{ ipBlock: { cidr: '169.254.20.10/32' } }];
    const dns = { namespace: 'openshift-dns', podLabels: null, ports: [53, 5353], peers };
    for (const component of ['api-gateway', 'migrate']) {
      const [rule] = policyOf(component, render('production', { network: { dns } })).egress ?? [];
      expect(rule).toEqual({
        ports: [53, 5353].flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }))),
        to: [
          {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'openshift-dns' } },
          },
          ...peers,
        ],
      });
    }
  });

  it('lets load balancers outside of the cluster call public services', () => {
    const ingressPeers = [{ ipBlock: { cidr: '10.9.0.0/16' } }];
    const manifests = render('production', { network: { ingressNamespace: '', ingressPeers } });
    expect(policyOf('api-gateway', manifests).ingress?.[0]?.from).toEqual(ingressPeers);
  });

  it('lets the ingress controller reach public services, and monitoring the metrics', () => {
    const from = (name: string) => [
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
    ];
    const rule = (port: string, namespace: string) => ({
      ...{ ports: [{ port, protocol: 'TCP' }], from: from(namespace) },
    });
    expect(policyOf('api-gateway').ingress).toEqual([
      ...[rule('http', 'ingress-nginx'), rule('metrics', 'monitoring')],
    ]);
    expect(policyOf('rail-executor').ingress).toEqual([rule('http', 'monitoring')]);
    expect(policyOf('migrate').ingress).toBeUndefined();
  });

  it('lets only rail-executor reach the simulated bank, under the name of its Service', () => {
    const sandbox = manifestsOf('sandbox');
    const peers = (policyOf('bank-simulator', sandbox).ingress ?? []).flatMap(
      ({ from = [] }) => from,
    );
    expect(JSON.stringify(peers)).toContain('"app.kubernetes.io/component":"rail-executor"');
    expect(peers).toHaveLength(1);
    const url = valuesOf(containerIn(sandbox, 'rail-executor'))['PIS_BANK_URL'];
    const service = ofKind(sandbox, 'Service').find((one) => componentOf(one) === 'bank-simulator');
    expect(url).toBe(`http://${String(service?.metadata.name)}:3000`);
    expect(valuesOf(containerIn(production(), 'rail-executor'))).not.toHaveProperty('PIS_BANK_URL');
  });
});
