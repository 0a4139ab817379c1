{{/*
The variables that the chart sets by a value of its own. Probes, policies, mounts and checks follow the value: a setting that
contradicts it would go past them. Without a name: nothing else may set it.
*/}}
{{- define "pis.valuesByVariable" -}}
HOST: ''
PORT: ''
PIS_METRICS_PORT: ''
PIS_DATA_DIR: ''
PIS_ENVIRONMENT: environment
PIS_BROKER: kafka.enabled
KAFKA_BROKERS: kafka.brokers
KAFKA_PREFIX: kafka.prefix
KAFKA_SSL: kafka.tls
KAFKA_SSL_CA_FILE: kafka.caSecret
KAFKA_SSL_CERT_FILE: kafkaCertificateSecret
KAFKA_SSL_KEY_FILE: kafkaCertificateSecret
KAFKA_SASL_MECHANISM: kafka.saslMechanism
PIS_DATABASE_POOL: databasePool
PIS_SHUTDOWN_DRAIN_MS: drainSeconds
PIS_EVENT_STORE: eventStore.kind
EVENTSTOREDB_CLIENT: eventStore.client
EVENTSTOREDB_NAMESPACE: eventStore.namespace
PIS_DOCUMENT_STORE: documentStore
PIS_BANKS_FILE: banks.fileSecret
PIS_PUBLIC_URL: publicUrls
OTEL_EXPORTER_OTLP_ENDPOINT: telemetry.endpoint
OTEL_TRACES_SAMPLER: telemetry.sampler
OTEL_TRACES_SAMPLER_ARG: telemetry.samplerRatio
{{- end -}}

{{- define "pis.checkSettings" -}}
{{- $given := merge (dict) (.service.env | default dict) .root.Values.env -}}
{{- $wrong := list -}}
{{- range $variable, $value := include "pis.valuesByVariable" . | fromYaml -}}
{{- if hasKey $given $variable -}}
{{- $wrong = append $wrong (ternary (printf "leave out %s" $variable) (printf "set %s instead of %s" $value $variable) (eq $value "")) -}}
{{- end -}}
{{- end -}}
{{- if $wrong -}}
{{- fail (printf "%s: %s. Other parts of the chart count on them" .name (join ", " $wrong)) -}}
{{- end -}}
{{- end -}}

{{/* The environment of a process: settings by value, secrets by reference. What a service sets itself wins. */}}
{{- define "pis.env" -}}
{{- include "pis.checkSettings" . -}}
{{- $values := .root.Values -}}
{{- $env := dict
  "PIS_ENVIRONMENT" $values.environment
  "PIS_BROKER" (ternary "kafka" "embedded" $values.kafka.enabled)
  "PIS_DATABASE_POOL" .service.databasePool
  "PIS_SHUTDOWN_DRAIN_MS" (mul .service.drainSeconds 1000)
-}}
{{- if and (eq $values.eventStore.kind "eventstoredb") (has "eventstoredb" .service.reaches) -}}
{{- $_ := set $env "PIS_EVENT_STORE" "eventstoredb" -}}
{{- $_ := set $env "EVENTSTOREDB_CLIENT" $values.eventStore.client -}}
{{- $_ := set $env "EVENTSTOREDB_NAMESPACE" $values.eventStore.namespace -}}
{{- end -}}
{{- if $values.kafka.enabled -}}
{{- $_ := set $env "KAFKA_BROKERS" (join "," $values.kafka.brokers) -}}
{{- end -}}
{{- $onKafka := and $values.kafka.enabled (has "kafka" .service.reaches) -}}
{{- if $onKafka -}}
{{- if $values.kafka.prefix }}{{ $_ := set $env "KAFKA_PREFIX" $values.kafka.prefix }}{{ end -}}
{{- $hasCertificates := or $values.kafka.caSecret .service.kafkaCertificateSecret -}}
{{- if and $hasCertificates (not $values.kafka.tls) -}}
{{- fail (printf "%s has certificates for Kafka (kafka.caSecret, kafkaCertificateSecret): set kafka.tls to true" .name) -}}
{{- end -}}
{{- if $values.kafka.tls }}{{ $_ := set $env "KAFKA_SSL" "true" }}{{ end -}}
{{- if $values.kafka.caSecret }}{{ $_ := set $env "KAFKA_SSL_CA_FILE" "/etc/pis/kafka/ca.crt" }}{{ end -}}
{{- if .service.kafkaCertificateSecret -}}
{{- $_ := set $env "KAFKA_SSL_CERT_FILE" "/etc/pis/kafka-certificate/tls.crt" -}}
{{- $_ := set $env "KAFKA_SSL_KEY_FILE" "/etc/pis/kafka-certificate/tls.key" -}}
{{- end -}}
{{- with $values.kafka.saslMechanism }}{{ $_ := set $env "KAFKA_SASL_MECHANISM" . }}{{ end -}}
{{- end -}}
{{- if $values.telemetry.endpoint -}}
{{- $_ := set $env "OTEL_EXPORTER_OTLP_ENDPOINT" $values.telemetry.endpoint -}}
{{- $_ := set $env "OTEL_TRACES_SAMPLER" $values.telemetry.sampler -}}
{{- $_ := set $env "OTEL_TRACES_SAMPLER_ARG" $values.telemetry.samplerRatio -}}
{{- end -}}
{{- if has "objectStore" .service.reaches }}{{ $_ := set $env "PIS_DOCUMENT_STORE" $values.documentStore }}{{ end -}}
{{- if and (ne .service.banks "none") $values.banks.fileSecret -}}
{{- $_ := set $env "PIS_BANKS_FILE" "/etc/pis/banks/banks.yaml" -}}
{{- end -}}
{{- with include "pis.publicUrl" . }}{{ $_ := set $env "PIS_PUBLIC_URL" . }}{{ end -}}
{{- $bank := get $values.services "bank-simulator" | default dict -}}
{{- if and (eq .name "rail-executor") $bank.enabled (not $values.banks.fileSecret) -}}
{{- $_ := set $env "PIS_BANK_URL" (printf "http://%s:3000" (include "pis.name" (dict "root" .root "name" "bank-simulator"))) -}}
{{- end -}}
{{- $env = mergeOverwrite $env (deepCopy $values.env) (deepCopy (.service.env | default dict)) -}}
{{- range $name, $value := $env }}
- { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- $secret := .service.existingSecret | default (include "pis.name" .) -}}
{{- range include "pis.secretEnv" . | fromYamlArray }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }} } }
{{- end }}
{{- range .service.optionalSecretEnv | uniq }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ . }}, optional: true } }
{{- end }}
{{- end -}}

{{/* The variables that the Secret of a process must have. */}}
{{- define "pis.secretEnv" -}}
{{- $values := .root.Values -}}
{{- $names := list "DATABASE_URL" -}}
{{- if .service.masterKey }}{{ $names = append $names $values.masterKeyVariable }}{{ end -}}
{{- if and (eq $values.eventStore.kind "eventstoredb") (has "eventstoredb" .service.reaches) }}{{ $names = append $names "EVENTSTOREDB_URL" }}{{ end -}}
{{- if and $values.kafka.enabled $values.kafka.saslMechanism (has "kafka" .service.reaches) -}}
{{- $names = concat $names (list "KAFKA_SASL_USERNAME" "KAFKA_SASL_PASSWORD") -}}
{{- end -}}
{{- concat $names (.service.secretEnv | default list) | uniq | toYaml -}}
{{- end -}}
