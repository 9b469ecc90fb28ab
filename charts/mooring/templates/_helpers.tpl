{{- /* What selects the manager's pods; it can never change. */ -}}
{{- define "mooring.selector" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/component: manager
{{- end }}

{{- /* What Helm puts on every object. */ -}}
{{- define "mooring.releaseLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") | quote }}
{{- end }}

{{- define "mooring.labels" -}}
{{ include "mooring.selector" . }}
{{ include "mooring.releaseLabels" . }}
{{- end }}

{{- define "mooring.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ .Values.serviceAccount.name }}
    namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "mooring.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end }}
{{- end }}
{{- end }}

{{- /* drainTimeout in seconds. */ -}}
{{- define "mooring.drainSeconds" -}}
{{- $number := regexFind "^[0-9]+" .Values.drainTimeout | int }}
{{- if hasSuffix "m" .Values.drainTimeout }}{{ mul $number 60 }}{{ else }}{{ $number }}{{ end }}
{{- end }}

{{- /* Flags, each only where the value departs from the manager's own default. */ -}}
{{- define "mooring.args" -}}
- manager
{{- if not .Values.metrics.enabled }}
- --metrics-bind-address=0
{{- end }}
{{- with .Values.watchNamespaces }}
- --watch-namespaces={{ join "," . }}
{{- end }}
{{- include "mooring.commonArgs" . }}
{{- if .Values.gateway.enabled }}
- --gateway-url={{ include "mooring.gatewayURL" . }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- /* The environment. A proxy gets neither what the cluster serves nor the API server, unless NO_PROXY is given. */ -}}
{{- define "mooring.env" -}}
{{- $proxied := false }}
{{- $excluded := false }}
{{- range .Values.extraEnv }}
{{- $proxied = or $proxied (has (upper .name) (list "HTTPS_PROXY" "HTTP_PROXY")) }}
{{- $excluded = or $excluded (eq (upper .name) "NO_PROXY") }}
{{- end }}
{{- with .Values.extraEnv }}
{{- toYaml . }}
{{- end }}
{{- if and $proxied (not $excluded) }}
- name: NO_PROXY
  value: .svc,.svc.cluster.local,$(KUBERNETES_SERVICE_HOST)
{{- end }}
{{- end }}

{{- /* Flags of manager and gateway. */ -}}
{{- define "mooring.commonArgs" -}}
{{- with .Values.egress.allow }}
- {{ printf "--egress-allow=%s" (join "," .) | quote }}
{{- end }}
{{- with .Values.egress.deny }}
- {{ printf "--egress-deny=%s" (join "," .) | quote }}
{{- end }}
{{- if .Values.egress.allowCrossNamespaceServices }}
- --allow-cross-namespace-services
{{- end }}
{{- $drain := include "mooring.drainSeconds" . }}
{{- if ne $drain "60" }}
- --drain-timeout={{ $drain }}s
{{- end }}
{{- with .Values.verbosity }}
- --verbose={{ . }}
{{- end }}
{{- end }}

{{- /* The gateway's flags. */ -}}
{{- define "mooring.gatewayArgs" -}}
- gateway
{{- if not .Values.metrics.enabled }}
- --metrics-bind-address=0
{{- end }}
{{- with .Values.watchNamespaces }}
- --watch-namespaces={{ join "," . }}
{{- end }}
{{- include "mooring.commonArgs" . }}
{{- if .Values.gateway.tlsSecretName }}
- --tls-cert-file=/etc/mooring/tls/tls.crt
- --tls-key-file=/etc/mooring/tls/tls.key
{{- else }}
- --insecure-http
{{- end }}
{{- with .Values.gateway.allowedHosts }}
- --allowed-hosts={{ join "," . }}
{{- end }}
{{- range .Values.gateway.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- /* Where agents reach the gateway. */ -}}
{{- define "mooring.gatewayURL" -}}
{{- $scheme := ternary "https" "http" (ne .Values.gateway.tlsSecretName "") }}
{{- .Values.gateway.url | default (printf "%s://mooring-gateway.%s.svc" $scheme .Release.Namespace) }}
{{- end }}

{{- define "mooring.gatewaySelector" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/component: gateway
{{- end }}

{{- define "mooring.gatewayLabels" -}}
{{ include "mooring.gatewaySelector" . }}
{{ include "mooring.releaseLabels" . }}
{{- end }}

{{- define "mooring.gatewaySubjects" -}}
subjects:
  - kind: ServiceAccount
    name: mooring-gateway
    namespace: {{ .Release.Namespace }}
{{- end }}
