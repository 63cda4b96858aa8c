{{/* Labels of every object: what the kustomize base has, and what Helm asks of a chart. */}}
{{- define "ichor.labels" -}}
app.kubernetes.io/name: ichor
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Labels that select the controller's Pods. */}}
{{- define "ichor.selector" -}}
app.kubernetes.io/name: ichor
app.kubernetes.io/component: controller
{{- end }}

{{/*
The objects of plain files, which kustomize applies as well (files/ links to them), with the release's namespace and labels.
files: pattern; root: $; labels, annotations: more of them, for all these objects.
*/}}
{{- define "ichor.objects" -}}
{{- $root := .root -}}
{{- $labels := merge (dict) (default (dict) .labels) (fromYaml (include "ichor.labels" $root)) -}}
{{- $annotations := default (dict) .annotations -}}
{{- range $path, $content := $root.Files.Glob .files }}
{{- if ne (base $path) "kustomization.yaml" }}
{{- range $document := splitList "\n---\n" (toString $content) }}
{{- $object := fromYaml (replace "ichor-system" $root.Release.Namespace $document) }}
{{- $metadata := get $object "metadata" }}
{{- $_ := set $metadata "labels" (merge (default (dict) $metadata.labels) $labels) }}
{{- if $annotations }}
{{- $_ := set $metadata "annotations" (merge (default (dict) $metadata.annotations) $annotations) }}
{{- end }}
---
# {{ $path }}
{{ toYaml $object }}
{{ end }}
{{- end }}
{{- end }}
{{- end }}
