{{- /* What a schema cannot tell: values that contradict one another. */ -}}
{{- define "mooring.checks" -}}
{{- $values := .Values }}
{{- if $values.secretReader.clusterWide }}
{{- if $values.secretNamespaces }}
{{- fail "secretReader.clusterWide reads every Secret already: leave secretNamespaces empty, or clusterWide false" }}
{{- end }}
{{- if $values.watchNamespaces }}
{{- fail "secretReader.clusterWide reads more than watchNamespaces needs: name namespaces in secretNamespaces instead" }}
{{- end }}
{{- end }}
{{- range $values.secretNamespaces }}
{{- if and $values.watchNamespaces (not (has . $values.watchNamespaces)) }}
{{- fail (printf "secretNamespaces has %q, which watchNamespaces leaves out: its Secrets would be read for nothing" .) }}
{{- end }}
{{- end }}
{{- range $label, $_ := include "mooring.selector" . | fromYaml }}
{{- if hasKey $values.podLabels $label }}
{{- fail (printf "podLabels has %s, which selects the manager's pods and is set already" $label) }}
{{- end }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if and (has (upper .name) (list "HTTPS_PROXY" "HTTP_PROXY")) (regexMatch "@" (.value | default "")) }}
{{- fail (printf "extraEnv: %s holds credentials, for all to read: take it by valueFrom.secretKeyRef" .name) }}
{{- end }}
{{- end }}
{{- range $flag, $instead := dict
  "metrics-bind-address" "metrics.enabled; its port is 8080"
  "health-probe-bind-address" "nothing; the probes need its port 8081"
  "leader-elect" "nothing; two managers without a lease would undo one another's work"
  "leader-election-namespace" "nothing; the lease is where the manager may write it"
  "watch-namespaces" "watchNamespaces, which binds the manager's role too"
  "drain-timeout" "drainTimeout, which gives the pod the time too"
  "egress-allow" "egress.allow"
  "egress-deny" "egress.deny"
  "allow-cross-namespace-services" "egress.allowCrossNamespaceServices"
  "verbose" "verbosity"
  }}
{{- range $values.extraArgs }}
{{- if regexMatch (printf "^--%s(=|$)" $flag) . }}
{{- fail (printf "extraArgs has --%s: use %s" $flag $instead) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
