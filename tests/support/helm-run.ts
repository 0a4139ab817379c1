/**
 * Does on this machine what a cluster does with the rendered chart: resolves Secrets, mounts them as files, runs the
 * hooks, and starts each container of each Deployment with its own arguments and environment, from the bundle.
 *
 * What differs: a pod has no network of its own. Its port is a free one, and the address of a Service is replaced by that of
 * the pod which the Service selects.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Environment, runInBundle, startInBundle } from './bundle.js';
import { type Container, type Manifest, ofKind, type Pod, podsOf } from './helm.js';
import type { RunningProcess } from './process.js';

/** By name, then by key. */
export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface RunningPod {
  readonly component: string;
  readonly container: Container;
  readonly graceMs: number;
  readonly url: string;
  readonly environment: Environment;
  readonly process: RunningProcess;
}

export interface ClusterOptions {
  readonly bundle: string;
  readonly manifests: readonly Manifest[];
  readonly secrets: Secrets;
  /** An empty folder for the volumes of all pods. */
  readonly folder: string;
}

export class LocalCluster {
  readonly pods = new Map<string, RunningPod>();

  constructor(private readonly options: ClusterOptions) {}

  /** The Jobs of the hooks: each container after the one before. @throws if one fails */
  async runHooks(): Promise<void> {
    for (const [component, pod] of this.podsOfKind('Job'))
      for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
        const environment = this.environmentOf(component, pod, container);
        const { code, stderr } = await runInBundle(
          this.options.bundle,
          container.args,
          environment,
        );
        if (code !== 0) throw new Error(`${component} ${container.name}: ${stderr}`);
      }
  }

  /**
   * Starts the pods of all Deployments at once, as a cluster does, and waits until each is ready. Only `first` come before: the
   * addresses of their Services are known when they run.
   */
  async startServices(first: readonly string[]): Promise<void> {
    const pods = this.podsOfKind('Deployment');
    const startAll = async (components: readonly string[]) => {
      const started = await Promise.allSettled(
        components.map(async (component) => {
          const pod = pods.get(component);
          if (pod === undefined) throw new Error(`the chart has no ${component}`);
          this.pods.set(component, await this.start(component, pod));
        }),
      );
      for (const outcome of started) if (outcome.status === 'rejected') throw outcome.reason;
    };
    await startAll(first);
    await startAll([...pods.keys()].filter((component) => !first.includes(component)));
  }

  pod(component: string): RunningPod {
    const found = this.pods.get(component);
    if (found === undefined) throw new Error(`${component} does not run`);
    return found;
  }

  /** SIGTERM to all, as a cluster does. The exit code of each, and how long it took. */
  async stop(): Promise<ReadonlyMap<string, { code: number | null; tookMs: number }>> {
    const ended = await Promise.all(
      [...this.pods].map(async ([component, { process }]) => {
        const startedAt = performance.now();
        const code = await process.stop();
        return [component, { code, tookMs: performance.now() - startedAt }] as const;
      }),
    );
    this.pods.clear();
    return new Map(ended);
  }

  private async start(component: string, pod: Pod): Promise<RunningPod> {
    const [container] = pod.containers;
    if (container === undefined) throw new Error(`${component} has no container`);
    const environment = this.environmentOf(component, pod, container);
    const process = await startInBundle(this.options.bundle, container.args, environment);
    // all-in-one names its address as `npm start` does (rule ready-1).
    const url = String(process.ready['url'] ?? process.ready['apiUrl']);
    const graceMs = pod.terminationGracePeriodSeconds * 1_000;
    return { component, container, graceMs, url, environment, process };
  }

  private environmentOf(component: string, pod: Pod, container: Container): Environment {
    const folder = path.join(this.options.folder, component);
    const mounts = this.mount(folder, pod, container);
    const variables = container.env.flatMap(({ name, value, valueFrom }) => {
      if (value !== undefined) return [[name, this.onThisMachine(mounts, value)]];
      const { name: secret = '', key = '', optional = false } = valueFrom?.secretKeyRef ?? {};
      const found = this.options.secrets[secret]?.[key];
      if (found !== undefined) return [[name, found]];
      if (optional) return [];
      throw new Error(`${component}: there is no key ${key} in the Secret ${secret}`);
    });
    // PIS_DATA_DIR as the image sets it: the mounted /data.
    const data = mounts.get('/data') ?? folder;
    return { NODE_ENV: 'production', PIS_DATA_DIR: data, ...Object.fromEntries(variables) };
  }

  /** Makes the volumes of a container. Their folders, by the path in the container. */
  private mount(folder: string, pod: Pod, container: Container): ReadonlyMap<string, string> {
    const mounts = new Map<string, string>();
    for (const { name, mountPath } of container.volumeMounts) {
      const place = path.join(folder, name);
      mkdirSync(place, { recursive: true });
      mounts.set(mountPath, place);
      const { secret } = (pod.volumes.find((volume) => volume.name === name) ?? {}) as {
        secret?: { secretName: string };
      };
      const files = secret === undefined ? {} : (this.options.secrets[secret.secretName] ?? {});
      for (const [key, text] of Object.entries(files)) writeFileSync(path.join(place, key), text);
    }
    return mounts;
  }

  /** Paths of mounted volumes, and addresses of Services, as they are here. */
  private onThisMachine(mounts: ReadonlyMap<string, string>, value: string): string {
    for (const [mountPath, folder] of mounts)
      if (value.startsWith(`${mountPath}/`)) return value.replace(mountPath, folder);
    const [, host, port] = /^http:\/\/([a-z0-9-]+):(\d+)$/.exec(value) ?? [];
    return host === undefined ? value : this.addressOf(host, Number(port));
  }

  /** Follows a Service to the port of the pod that it selects. */
  private addressOf(host: string, port: number): string {
    const service = ofKind(this.options.manifests, 'Service').find(
      ({ metadata }) => metadata.name === host,
    );
    const { selector, ports } = (service?.['spec'] ?? {}) as {
      selector?: Readonly<Record<string, string>>;
      ports?: readonly { readonly port: number; readonly targetPort: string }[];
    };
    const pod = this.pod(selector?.['app.kubernetes.io/component'] ?? '');
    const { targetPort } = ports?.find((one) => one.port === port) ?? {};
    if (!pod.container.ports?.some(({ name }) => name === targetPort))
      throw new Error(`the Service ${host} leads to no port of ${pod.component}`);
    return pod.url;
  }

  private podsOfKind(kind: string): ReadonlyMap<string, Pod> {
    return podsOf(ofKind(this.options.manifests, kind));
  }
}

/** What a probe of a container gets. */
export async function probe(
  { container, url }: RunningPod,
  name: 'startupProbe' | 'livenessProbe' | 'readinessProbe',
): Promise<{ readonly status: number; readonly body: unknown }> {
  const { httpGet, timeoutSeconds } = container[name] as {
    readonly httpGet: { readonly path: string };
    readonly timeoutSeconds: number;
  };
  const response = await fetch(`${url}${httpGet.path}`, {
    signal: AbortSignal.timeout(timeoutSeconds * 10_000),
  });
  return { status: response.status, body: await response.json() };
}
