{{- $minor := .Capabilities.KubeVersion.Minor | trimSuffix "+" | int }}
{{- $known := and (ge $minor 30) (le $minor 36) | ternary (printf "v1.%d.0" $minor) "" }}
{{- $unknown := "you must use a supported version of Kubernetes or provide imageRepository, imageName, and imageTag values" }}
{{- with .Values.cloudControllerManager }}
{{- if .enabled }}
apiVersion: v1
kind: ServiceAccount
metadata: {name: cloud-controller-manager, namespace: kube-system}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cloud-controller-manager
  namespace: kube-system
  labels: {component: cloud-controller-manager}
spec:
  replicas: {{ .replicas }}
  selector: {matchLabels: {tier: control-plane, component: cloud-controller-manager}}
  template:
    metadata: {labels: {tier: control-plane, component: cloud-controller-manager}}
    spec:
      priorityClassName: system-node-critical
      hostNetwork: true
      nodeSelector: {{ toJson .nodeSelector }}
      tolerations: {{ toJson .tolerations }}
      serviceAccountName: cloud-controller-manager
      containers:
      - name: cloud-controller-manager
        image: {{ .imageRepository }}/{{ .imageName }}:{{ .imageTag | default $known | required $unknown }}
        command: [cloud-controller-manager]
        args:
        - --allocate-node-cidrs={{ .allocateNodeCidrs }}
        - --cloud-config={{ .cloudConfig }}
        - --cloud-provider=azure
        - --cluster-cidr={{ .clusterCIDR }}
        - --cluster-name={{ $.Values.infra.clusterName }}
        - --configure-cloud-routes={{ .configureCloudRoutes }}
        volumeMounts: [{name: etc-kubernetes, mountPath: /etc/kubernetes}]
      volumes: [{name: etc-kubernetes, hostPath: {path: /etc/kubernetes}}]
---
{{- end }}
{{- end }}
{{- with .Values.cloudNodeManager }}
{{- if .enabled }}
apiVersion: v1
kind: ServiceAccount
metadata: {name: cloud-node-manager, namespace: kube-system}
{{- $image := printf "%s/%s:%s" .imageRepository .imageName (.imageTag | default $known | required $unknown) }}
{{- range $os, $name := dict "linux" "cloud-node-manager" "windows" "cloud-node-manager-windows" }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ $name }}
  namespace: kube-system
  labels: {component: cloud-node-manager}
spec:
  selector: {matchLabels: {k8s-app: {{ $name }}}}
  template:
    metadata: {labels: {k8s-app: {{ $name }}}}
    spec:
      priorityClassName: system-node-critical
      serviceAccountName: cloud-node-manager
      {{- if eq $os "linux" }}
      hostNetwork: true
      {{- end }}
      nodeSelector: {kubernetes.io/os: {{ $os }}}
      tolerations:
      - {key: CriticalAddonsOnly, operator: Exists}
      - {operator: Exists, effect: NoExecute}
      - {operator: Exists, effect: NoSchedule}
      containers:
      - name: cloud-node-manager
        image: {{ $image }}
        command: [{{ eq $os "linux" | ternary "cloud-node-manager" "/cloud-node-manager.exe" }}]
        args: ["--node-name=$(NODE_NAME)"]
        env: [{name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
{{- end }}
{{- end }}
{{- end }}
