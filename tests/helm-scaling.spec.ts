/** The pods of the Helm chart: how many there are, where they run, and by what they scale. */
import { allTopicSpecs } from '@pis/contracts';
import { railExecutor } from '@pis/rail-executor/app';
import { webhookDispatcher } from '@pis/webhook-dispatcher/app';
import {
  componentOf,
  containerIn,
  describeWithHelm,
  type Manifest,
  manifestsOf,
  ofKind,
  type Pod,
  podsOf,
  render,
} from './support/helm.js';

interface ScalerSpec {
  readonly scaleTargetRef: unknown;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly metrics: readonly { readonly resource: unknown }[];
}

describeWithHelm('the scaling of the Helm chart', () => {
  const production = () => manifestsOf('production');

  it('keeps one pod of each replicated service through disruptions, and blocks no drain of others', () => {
    const budgets = ofKind(production(), 'PodDisruptionBudget');
    const single = ['fee-collector', 'statement-generator'];
    const replicated = [...podsOf(production()).keys()].filter(
      (component) => !single.includes(component) && component !== 'migrate',
    );
    expect(budgets.map(componentOf).sort()).toEqual(replicated.sort());
    // While PostgreSQL is away, no pod is ready: a node may be drained all the same.
    for (const { spec } of budgets as unknown as { spec: unknown }[])
      expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });

  it('spreads the pods of a service over nodes and zones, and starts them where it cannot', () => {
    for (const deployment of ofKind(production(), 'Deployment')) {
      const component = componentOf(deployment);
      const matchLabels = {
        'app.kubernetes.io/instance': 'pis',
        'app.kubernetes.io/component': component,
      };
      const { template } = deployment['spec'] as { template: Manifest & { spec: Pod } };
      expect(template.metadata.labels).toMatchObject(matchLabels);
      expect(template.spec['topologySpreadConstraints']).toEqual(
        ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
          ...{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway' },
          labelSelector: { matchLabels },
        })),
      );
    }
  });

  it('replaces no further pod before the last one has ended, and given its connections to PostgreSQL back', () => {
    for (const deployment of ofKind(production(), 'Deployment')) {
      const { minReadySeconds, template } = deployment['spec'] as {
        minReadySeconds: number;
        template: { spec: Pod };
      };
      const drainMs = Number(
        template.spec.containers[0]?.env.find(({ name }) => name === 'PIS_SHUTDOWN_DRAIN_MS')
          ?.value,
      );
      // docs/operations.md, Stopping: at most 9 s, or 4 s after the drain.
      expect(minReadySeconds * 1_000).toBeGreaterThan(Math.max(9_000, drainMs + 4_000));
    }
  });

  it('counts requests in all replicas of a service with limits together', () => {
    for (const component of ['api-gateway', 'payment-pages'])
      expect(containerIn(production(), component).env).toContainEqual({
        ...{ name: 'PIS_RATE_LIMIT_STORE', value: 'postgres' },
      });
  });

  it('measures the CPU of each scaled service by a request of its own', () => {
    const targets = ofKind(production(), 'HorizontalPodAutoscaler').map((scaler) => {
      const { scaleTargetRef, metrics, minReplicas, maxReplicas } = scaler['spec'] as ScalerSpec;
      const component = componentOf(scaler);
      const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', name: `pis-${component}` };
      expect(scaleTargetRef).toEqual(deployment);
      const { requests } = containerIn(production(), component)['resources'] as {
        requests: { cpu: string };
      };
      const [{ resource } = { resource: null }] = metrics;
      return [component, requests.cpu, resource, minReplicas, maxReplicas];
    });
    const cpu = (averageUtilization: number) => ({
      ...{ name: 'cpu', target: { type: 'Utilization', averageUtilization } },
    });
    expect(targets).toEqual([
      ['api-gateway', '500m', cpu(60), 3, 5],
      ['payment-pages', '250m', cpu(60), 2, 3],
      ['rail-executor', '500m', cpu(70), 2, 3],
      ['webhook-dispatcher', '500m', cpu(70), 2, 4],
    ]);
  });

  it('scales by CPU, and with KEDA by the lag of consumer groups and topics that exist', () => {
    const scaled = (manifests: readonly Manifest[], kind: string) =>
      ofKind(manifests, kind).map(componentOf).sort();
    const both = ['api-gateway', 'payment-pages', 'rail-executor', 'webhook-dispatcher'];
    expect(scaled(production(), 'HorizontalPodAutoscaler')).toEqual(both);
    for (const deployment of ofKind(production(), 'Deployment'))
      if (both.includes(componentOf(deployment)))
        expect(deployment['spec']).not.toHaveProperty('replicas');
    const withKeda = render('production', {
      keda: { enabled: true, triggerAuthentication: 'kafka' },
      kafka: { prefix: 'eu.' },
    });
    expect(scaled(withKeda, 'ScaledObject')).toEqual(['rail-executor', 'webhook-dispatcher']);
    expect(scaled(withKeda, 'HorizontalPodAutoscaler')).toEqual(['api-gateway', 'payment-pages']);
    const consumers = [railExecutor, webhookDispatcher].flatMap((app) => app.consumers);
    const topics = allTopicSpecs().map(({ topic }) => topic);
    for (const { spec } of ofKind(withKeda, 'ScaledObject') as unknown as {
      spec: { triggers: { type: string; metadata: Record<string, string> }[] };
    }[]) {
      const { consumerGroup = '', topic = '' } =
        spec.triggers.find(({ type }) => type === 'kafka')?.metadata ?? {};
      expect(consumers.map((group) => `eu.${group}`)).toContain(consumerGroup);
      expect(topics.map((name) => `eu.${name}`)).toContain(topic);
    }
  });
});
