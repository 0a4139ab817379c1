/** Renders the Helm chart with the real helm, which is built once. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { goTool } from './go.js';
import { root } from './process.js';

export const chart = path.join(root, 'helm/payment-initiation-service');
/** Kubernetes versions of the oldest and the newest cluster that the chart is checked for. */
export const kubernetesVersions = ['1.27', '1.37'] as const;

export const helm = await goTool('helm', 'helm.sh/helm/v3/cmd/helm', 'v3.22.0');

/** The files of values of each profile, as an operator names them. */
export const profiles = {
  sandbox: ['values-sandbox.yaml'],
  production: ['values-production.yaml', 'ci/production-values.yaml'],
  minimal: ['values-minimal.yaml'],
} as const;
export type Profile = keyof typeof profiles;

/** A Kubernetes object. What it has depends on its kind: callers say what they expect. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly Variable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: unknown;
  readonly [probe: string]: unknown;
}

export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef: {
      readonly name: string;
      readonly key: string;
      readonly optional?: boolean;
    };
  };
}

export interface Pod {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly terminationGracePeriodSeconds: number;
  readonly volumes: readonly { readonly name: string; readonly [source: string]: unknown }[];
  readonly [field: string]: unknown;
}

export type Values = Readonly<Record<string, unknown>>;

/** What helm prints, or its complaint. `values` win over the profile. */
export function runHelm(command: readonly string[], profile: Profile | null, values: Values = {}) {
  const files = profile === null ? [] : profiles[profile];
  const [name = '', ...rest] = command;
  const args = [
    ...[name, '--kube-version', '1.31.0', '--namespace', 'payments', ...rest, chart],
    ...files.flatMap((file) => ['--values', path.join(chart, file)]),
    ...['--values', '-'],
  ];
  const { status, stdout, stderr, error } = spawnSync(helm.path ?? 'helm', args, {
    encoding: 'utf8',
    input: JSON.stringify(values),
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) throw error;
  return { ok: status === 0, stdout, stderr };
}

/** The objects that an installation makes. @throws with helm's message */
export function render(
  profile: Profile | null,
  values: Values = {},
  { release = 'pis', namespace = 'payments' } = {},
): readonly Manifest[] {
  const command = ['template', release, '--namespace', namespace];
  const { ok, stdout, stderr } = runHelm(command, profile, values);
  if (!ok) throw new Error(stderr);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

/** Why the chart does not render. Empty if it does. */
export function complaint(profile: Profile | null, values: Values): string {
  const { ok, stderr } = runHelm(['template', 'pis'], profile, values);
  return ok ? '' : stderr;
}

const rendered = new Map<Profile, readonly Manifest[]>();

/** The objects of a profile as it is. Rendered once for each test file. */
export function manifestsOf(profile: Profile): readonly Manifest[] {
  const manifests = rendered.get(profile) ?? render(profile);
  rendered.set(profile, manifests);
  return manifests;
}

/** A suite that is skipped, and says why, where helm cannot be built. */
export function describeWithHelm(name: string, suite: () => void): void {
  if (helm.path === null) describe.skip(`${name} (not here: ${helm.missing})`, suite);
  else describe(name, suite);
}

export function ofKind(manifests: readonly Manifest[], kind: string): readonly Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

/** The service or job of an object. */
export function componentOf({ metadata }: Manifest): string {
  return metadata.labels?.['app.kubernetes.io/component'] ?? '';
}

/** The pods of all workloads, by component. */
export function podsOf(manifests: readonly Manifest[]): ReadonlyMap<string, Pod> {
  return new Map(
    manifests.flatMap((manifest) => {
      const spec = podSpecOf(manifest);
      return spec === null ? [] : [[componentOf(manifest), spec] as const];
    }),
  );
}

/** The one container of a service, or the last one of a job. */
export function containerIn(manifests: readonly Manifest[], component: string): Container {
  const [container] = podsOf(manifests).get(component)?.containers ?? [];
  if (container === undefined) throw new Error(`there is no container of ${component}`);
  return container;
}

interface Template {
  readonly template: { readonly spec: Pod };
}

function podSpecOf({ kind, ...manifest }: Manifest): Pod | null {
  const { spec } = manifest as unknown as { readonly spec: Template };
  if (kind === 'Deployment' || kind === 'Job') return spec.template.spec;
  if (kind === 'CronJob')
    return (spec as unknown as { readonly jobTemplate: { readonly spec: Template } }).jobTemplate
      .spec.template.spec;
  return null;
}

export function containersOf(pod: Pod): readonly Container[] {
  return [...(pod.initContainers ?? []), ...pod.containers];
}

/** The variables that are set by value. */
export function valuesOf({ env }: Container): Readonly<Record<string, string>> {
  return Object.fromEntries(
    env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
}

/** The keys of the Secret that a container takes, required ones first. */
export function secretsOf({ env }: Container): {
  readonly names: readonly string[];
  readonly required: readonly string[];
  readonly optional: readonly string[];
} {
  const references = env.flatMap(({ valueFrom }) => (valueFrom ? [valueFrom.secretKeyRef] : []));
  const keysWhere = (isOptional: boolean) =>
    references.filter(({ optional = false }) => optional === isOptional).map(({ key }) => key);
  return {
    names: [...new Set(references.map(({ name }) => name))],
    required: keysWhere(false),
    optional: keysWhere(true),
  };
}
