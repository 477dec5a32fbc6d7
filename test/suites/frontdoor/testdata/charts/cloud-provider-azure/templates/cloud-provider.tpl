{{- $minor := .Capabilities.KubeVersion.Minor | trimSuffix "+" | int }}
{{- $known := and (ge $minor 30) (le $minor 36) | ternary (printf "v1.%d.0" $minor) "" }}
{{- $unknown := "you must use a supported version of Kubernetes or provide imageRepository, imageName, and imageTag values" }}
{{- with .Values.cloudControllerManager }}
{{- if .enabled }}
apiVersion: v1
kind: ServiceAccount
metadata: {name: cloud-controller-manager, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:cloud-controller-manager"}
rules:
- {apiGroups: [""], resources: [events], verbs: [create, patch, update]}
- {apiGroups: [""], resources: [nodes], verbs: ["*"]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
- {apiGroups: [""], resources: [services, services/status], verbs: [list, patch, update, watch]}
- {apiGroups: [""], resources: [serviceaccounts, endpoints], verbs: [create, get, list, watch, update]}
- {apiGroups: [""], resources: [persistentvolumes], verbs: [get, list, update, watch]}
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "system:cloud-controller-manager"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:cloud-controller-manager"}
subjects: [{kind: ServiceAccount, name: cloud-controller-manager, namespace: kube-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "system:cloud-controller-manager:extension-apiserver-authentication-reader", namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: cloud-controller-manager, namespace: kube-system}]
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
        - --controllers=*,-cloud-node
        - --leader-elect=true
        - --route-reconciliation-period=10s
        - --v=2
        volumeMounts: [{name: etc-kubernetes, mountPath: /etc/kubernetes}]
      volumes: [{name: etc-kubernetes, hostPath: {path: /etc/kubernetes}}]
---
{{- end }}
{{- end }}
{{- with .Values.cloudNodeManager }}
{{- if .enabled }}
{{- $image := printf "%s/%s:%s" .imageRepository .imageName (.imageTag | default $known | required $unknown) }}
apiVersion: v1
kind: ServiceAccount
metadata: {name: cloud-node-manager, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cloud-node-manager}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [watch, list, get, update, patch]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cloud-node-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cloud-node-manager}
subjects: [{kind: ServiceAccount, name: cloud-node-manager, namespace: kube-system}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: cloud-node-manager
  namespace: kube-system
  labels: {component: cloud-node-manager}
spec:
  selector: {matchLabels: {k8s-app: cloud-node-manager}}
  template:
    metadata: {labels: {k8s-app: cloud-node-manager}}
    spec:
      priorityClassName: system-node-critical
      serviceAccountName: cloud-node-manager
      hostNetwork: true
      nodeSelector: {kubernetes.io/os: linux}
      tolerations:
      - {key: CriticalAddonsOnly, operator: Exists}
      - {operator: Exists, effect: NoExecute}
      - {operator: Exists, effect: NoSchedule}
      containers:
      - name: cloud-node-manager
        image: {{ $image }}
        command: [cloud-node-manager]
        args: ["--node-name=$(NODE_NAME)"]
        env: [{name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
---
# On Windows the program of a HostProcess pod is started by a script, which gives it the kubeconfig of kube-proxy.
apiVersion: v1
kind: ConfigMap
metadata: {name: cloud-provider-azure-scripts, namespace: kube-system}
data:
  start.ps1: "# here the program of the lab's guest does what upstream's script does"
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: cloud-node-manager-windows
  namespace: kube-system
  labels: {component: cloud-node-manager}
spec:
  selector: {matchLabels: {k8s-app: cloud-node-manager-windows}}
  template:
    metadata: {labels: {k8s-app: cloud-node-manager-windows}}
    spec:
      priorityClassName: system-node-critical
      serviceAccountName: cloud-node-manager
      securityContext:
        windowsOptions: {hostProcess: true, runAsUserName: NT AUTHORITY\system}
      hostNetwork: true
      nodeSelector: {kubernetes.io/os: windows}
      tolerations:
      - {key: CriticalAddonsOnly, operator: Exists}
      - {operator: Exists, effect: NoExecute}
      - {operator: Exists, effect: NoSchedule}
      volumes:
      - {name: kube-proxy, configMap: {name: kube-proxy}}
      - {name: cloud-provider-azure-scripts, configMap: {name: cloud-provider-azure-scripts}}
      containers:
      - name: cloud-node-manager
        image: {{ $image }}
        command: [powershell.exe]
        args: ["$env:CONTAINER_SANDBOX_MOUNT_POINT/scripts/start.ps1"]
        env: [{name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        volumeMounts:
        - {name: kube-proxy, mountPath: /var/lib/cpaw}
        - {name: cloud-provider-azure-scripts, mountPath: /scripts}
{{- end }}
{{- end }}
