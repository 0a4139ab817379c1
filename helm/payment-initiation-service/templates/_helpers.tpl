{{/* A service with its defaults. The dictionary has root, name and, after this, everything that templates ask. */}}
{{- define "pis.service" -}}
{{- $service := mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (.values | default dict)) -}}
{{- toYaml $service -}}
{{- end -}}

{{- define "pis.name" -}}
{{- printf "%s-%s" .root.Release.Name .name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of a Job of this revision. */}}
{{- define "pis.jobName" -}}
{{- $revision := printf "-%d" (.root.Release.Revision | int) -}}
{{- printf "%s%s" (include "pis.name" . | trunc (sub 63 (len $revision) | int) | trimSuffix "-") $revision -}}
{{- end -}}

{{- define "pis.selector" -}}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end -}}

{{- define "pis.labels" -}}
{{ include "pis.selector" . }}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "pis.image" -}}
{{- $own := .service.image | default dict -}}
{{- $image := mergeOverwrite (deepCopy .root.Values.image) (deepCopy $own) -}}
{{- /* A tag of its own: the digest of the others is of another release. */ -}}
{{- if and $own.tag (not $own.digest) -}}{{- $_ := set $image "digest" "" -}}{{- end -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Whether the target of a name is in use: "true" or nothing. */}}
{{- define "pis.targetInUse" -}}
{{- $values := .root.Values -}}
{{- if not (hasKey $values.network.targets .target) -}}
{{- fail (printf "%s reaches %s, which network.targets does not have" .name .target) -}}
{{- end -}}
{{- if eq .target "kafka" -}}
{{- if $values.kafka.enabled }}true{{ end -}}
{{- else if eq .target "eventstoredb" -}}
{{- if eq $values.eventStore.kind "eventstoredb" }}true{{ end -}}
{{- else if eq .target "telemetry" -}}
{{- if $values.telemetry.endpoint }}true{{ end -}}
{{- else if eq .target "objectStore" -}}
{{- if hasPrefix "s3:" $values.documentStore }}true{{ end -}}
{{- else if eq .target "identityProvider" -}}
{{- if get (merge (dict) (.service.env | default dict) $values.env) "PIS_OIDC_ISSUER" }}true{{ end -}}
{{- else if eq .target "egressProxy" -}}
{{- if (get $values.network.targets "egressProxy").to }}true{{ end -}}
{{- else if eq .target "internet" -}}
{{- if not (get $values.network.targets "egressProxy" | default dict).to }}true{{ end -}}
{{- else -}}
true
{{- end -}}
{{- end -}}

{{/* The port of /metrics by its name. In production a public port never serves them. */}}
{{- define "pis.metricsPort" -}}
{{- if and .service.public (eq .root.Values.environment "production") }}metrics{{ else }}http{{ end -}}
{{- end -}}

{{/* https and the first host of the Ingress of these services. */}}
{{- define "pis.hostUrl" -}}
{{- $host := "" -}}
{{- range $name := .names -}}
{{- $service := get $.root.Values.services $name | default dict -}}
{{- if and (not $host) (ne (get $service "enabled" | toString) "false") -}}
{{- $host = dig "ingress" "host" "" $service -}}
{{- end -}}
{{- end -}}
{{- if $host }}https://{{ $host }}{{ end -}}
{{- end -}}

{{/* PIS_PUBLIC_URL of a service. Links lead to the payment pages. */}}
{{- define "pis.publicUrl" -}}
{{- $urls := .root.Values.publicUrls -}}
{{- if eq .name "api-gateway" -}}
{{- $urls.api | default (include "pis.hostUrl" (dict "root" .root "names" (list "api-gateway"))) -}}
{{- else if has .name (list "payment-pages" "dashboard" "all-in-one") -}}
{{- $urls.pages | default (include "pis.hostUrl" (dict "root" .root "names" (list "payment-pages" "all-in-one"))) -}}
{{- end -}}
{{- end -}}

{{/* The least PIS_DATABASE_POOL with which an app starts. tests/helm-values.spec.ts compares it with the apps. */}}
{{- define "pis.databasePoolMin" -}}
{{- dig .name 9 (dict "payments-projector" 15 "all-in-one" 21) -}}
{{- end -}}

{{/* The most pods of a service at a time, without those of a rollout. */}}
{{- define "pis.maxReplicas" -}}
{{- if .service.autoscaling -}}{{ .service.autoscaling.maxReplicas }}{{- else -}}{{ .service.replicas }}{{- end -}}
{{- end -}}

{{- define "pis.minReplicas" -}}
{{- if .service.autoscaling -}}{{ .service.autoscaling.minReplicas }}{{- else -}}{{ .service.replicas }}{{- end -}}
{{- end -}}
