{{/*
The pod of every service, job and cron job. The dictionary has root, name, service (with its defaults), and steps: the
containers, each with name and args, or a command. All but the last are init containers: they run one after another.
isService adds ports and probes, and runsOn has a pod without them start anew when it ends.
*/}}
{{- define "pis.pod" -}}
{{- $values := .root.Values -}}
{{- $last := last .steps -}}
serviceAccountName: {{ include "pis.name" . }}
automountServiceAccountToken: false
# Variables of other Services, such as KAFKA_PORT, would look like settings.
enableServiceLinks: false
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
# An app ends within its drain and 9 s: docs/operations.md, Stopping.
terminationGracePeriodSeconds: {{ add .service.drainSeconds 15 }}
{{- if .isService }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "pis.selector" $ | nindent 8 }}
  {{- end }}
{{- else if not .runsOn }}
{{- /* Failed pods stay, so that their logs can be read. */}}
restartPolicy: Never
{{- end }}
{{- with .service.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .service.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .service.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if gt (len .steps) 1 }}
initContainers:
  {{- range initial .steps }}
  - {{- include "pis.container" (merge (dict "step" .) $) | nindent 4 }}
  {{- end }}
{{- end }}
containers:
  - {{- include "pis.container" (merge (dict "step" $last) .) | nindent 4 }}
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 256Mi }
  - name: data
    emptyDir: { sizeLimit: 256Mi }
  {{- if and (ne .service.banks "none") $values.banks.fileSecret }}
  - name: banks
    secret:
      secretName: {{ $values.banks.fileSecret }}
      items: [{ key: banks.yaml, path: banks.yaml }]
  {{- end }}
  {{- if and (eq .service.banks "credentials") $values.banks.credentialsSecret }}
  - name: bank-credentials
    secret: { secretName: {{ $values.banks.credentialsSecret }} }
  {{- end }}
  {{- if and (has "kafka" .service.reaches) $values.kafka.enabled $values.kafka.caSecret }}
  - name: kafka-ca
    secret: { secretName: {{ $values.kafka.caSecret }} }
  {{- end }}
  {{- if and (has "kafka" .service.reaches) $values.kafka.enabled .service.kafkaCertificateSecret }}
  - name: kafka-certificate
    secret: { secretName: {{ .service.kafkaCertificateSecret }} }
  {{- end }}
  {{- range $index, $file := .service.secretFiles }}
  - name: files-{{ $index }}
    secret: { secretName: {{ $file.name }} }
  {{- end }}
{{- end -}}

{{- define "pis.container" -}}
{{- $values := .root.Values -}}
name: {{ .step.name }}
image: {{ include "pis.image" . }}
imagePullPolicy: {{ $values.image.pullPolicy }}
{{- if .step.command }}
command:
  {{- toYaml .step.command | nindent 2 }}
{{- else }}
args:
  {{- toYaml .step.args | nindent 2 }}
{{- end }}
env:
  {{- include "pis.env" . | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
resources:
  {{- toYaml .service.resources | nindent 2 }}
{{- if .isService }}
ports:
  - { name: http, containerPort: 3000 }
  {{- if eq (include "pis.metricsPort" .) "metrics" }}
  - { name: metrics, containerPort: 9464 }
  {{- end }}
  {{- range $name, $port := .service.ports }}
  - { name: {{ $name }}, containerPort: {{ $port }} }
  {{- end }}
# A process that waits for its dependencies lives: restarting it would not bring them back.
startupProbe:
  httpGet: { path: /health/live, port: http }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /health/live, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
# The answer names each dependency. It takes up to 2 s when one hangs.
readinessProbe:
  httpGet: { path: /health/ready, port: http }
  periodSeconds: 5
  timeoutSeconds: 4
  failureThreshold: 2
{{- end }}
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  - { name: data, mountPath: /data }
  {{- if and (ne .service.banks "none") $values.banks.fileSecret }}
  - { name: banks, mountPath: /etc/pis/banks, readOnly: true }
  {{- end }}
  {{- if and (eq .service.banks "credentials") $values.banks.credentialsSecret }}
  - { name: bank-credentials, mountPath: /run/secrets/bank, readOnly: true }
  {{- end }}
  {{- if and (has "kafka" .service.reaches) $values.kafka.enabled $values.kafka.caSecret }}
  - { name: kafka-ca, mountPath: /etc/pis/kafka, readOnly: true }
  {{- end }}
  {{- if and (has "kafka" .service.reaches) $values.kafka.enabled .service.kafkaCertificateSecret }}
  - { name: kafka-certificate, mountPath: /etc/pis/kafka-certificate, readOnly: true }
  {{- end }}
  {{- range $index, $file := .service.secretFiles }}
  - { name: files-{{ $index }}, mountPath: {{ $file.mountPath }}, readOnly: true }
  {{- end }}
{{- end -}}
