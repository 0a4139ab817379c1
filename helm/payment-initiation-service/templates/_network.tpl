{{/* What a process reaches, and who reaches it. */}}
{{- define "pis.networkPolicy" }}
{{- $network := .root.Values.network }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "pis.name" . }}
  labels:
    {{- include "pis.labels" . | nindent 4 }}
  {{- if .isHook }}
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-weight: '-10'
    helm.sh/hook-delete-policy: before-hook-creation
  {{- end }}
spec:
  podSelector:
    matchLabels:
      {{- include "pis.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- if .isService }}
  ingress:
    {{- if .service.public }}
    - ports: [{ port: http, protocol: TCP }]
      {{- if or $network.ingressNamespace $network.ingressPeers }}
      from:
        {{- with $network.ingressNamespace }}
        - namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ . }} } }
        {{- end }}
        {{- with $network.ingressPeers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
    {{- end }}
    - ports: [{ port: {{ include "pis.metricsPort" . }}, protocol: TCP }]
      {{- with $network.monitoringNamespace }}
      from: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ . }} } } }]
      {{- end }}
    {{- range $caller := include "pis.callersOf" . | fromYamlArray }}
    - ports:
        - { port: http, protocol: TCP }
        {{- range $port, $number := $.service.ports }}
        - { port: {{ $port }}, protocol: TCP }
        {{- end }}
      from:
        - podSelector:
            matchLabels:
              {{- include "pis.selector" (dict "root" $.root "name" $caller) | nindent 14 }}
    {{- end }}
  {{- end }}
  egress:
    - ports:
        {{- range $network.dns.ports }}
        - { port: {{ . }}, protocol: UDP }
        - { port: {{ . }}, protocol: TCP }
        {{- end }}
      to:
        - namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ $network.dns.namespace }} } }
          {{- with $network.dns.podLabels }}
          podSelector:
            matchLabels:
              {{- toYaml . | nindent 14 }}
          {{- end }}
        {{- with $network.dns.peers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- range $target := .service.reaches | uniq }}
    {{- if include "pis.targetInUse" (merge (dict "target" $target) $) }}
    {{- $where := get $network.targets $target }}
    # {{ $target }}
    {{- if $where.service }}
    {{- if dig $where.service "enabled" false $.root.Values.services }}
    - to:
        - podSelector:
            matchLabels:
              {{- include "pis.selector" (dict "root" $.root "name" $where.service) | nindent 14 }}
      ports:
        - { port: 3000, protocol: TCP }
        {{- range dig $where.service "ports" dict $.root.Values.services }}
        - { port: {{ . }}, protocol: TCP }
        {{- end }}
    {{- end }}
    {{- else }}
    {{- if and $network.strict (not $where.to) }}
    {{- fail (printf "network.targets.%s.to is empty: %s would reach every address at its ports. Name the addresses, or set network.strict to false" $target $.name) }}
    {{- end }}
    - ports:
        {{- range $where.ports }}
        - { port: {{ . }}, protocol: TCP }
        {{- end }}
      {{- if $where.to }}
      to:
        {{- include "pis.peers" (dict "target" $target "network" $network) | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- end }}
    {{- end }}
{{- end }}

{{/* The services that connect to this one, as a list. */}}
{{- define "pis.callersOf" -}}
{{- $callers := list -}}
{{- range $name, $given := .root.Values.services -}}
{{- $service := include "pis.service" (dict "root" $.root "values" $given) | fromYaml -}}
{{- range $target := $service.reaches -}}
{{- if and $service.enabled (eq (dig $target "service" "" $.root.Values.network.targets) $.name) -}}
{{- $callers = append $callers $name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $callers | uniq | toYaml -}}
{{- end -}}

{{/*
The peers of a target. The internet as a whole leaves out the banks, which only those may reach that have them as a target.
*/}}
{{- define "pis.peers" -}}
{{- $banks := list -}}
{{- if eq .target "internet" -}}
{{- range (get .network.targets "banks" | default dict).to -}}
{{- with .ipBlock }}{{ $banks = append $banks .cidr }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $peers := list -}}
{{- range (get .network.targets .target).to -}}
{{- $peer := deepCopy . -}}
{{- with $peer.ipBlock -}}
{{- $isV6 := contains ":" .cidr -}}
{{- /* What is excepted must be a part of the range, and not all of it. */ -}}
{{- $isAll := hasSuffix "/0" .cidr -}}
{{- range $bank := $banks -}}
{{- if and $isAll (eq $isV6 (contains ":" $bank)) (not (hasSuffix "/0" $bank)) -}}
{{- $_ := set $peer.ipBlock "except" (append ($peer.ipBlock.except | default list) $bank | uniq) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $peers = append $peers $peer -}}
{{- end -}}
{{- toYaml $peers -}}
{{- end -}}
