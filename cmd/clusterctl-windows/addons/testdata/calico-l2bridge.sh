# What Calico's operator needs before it makes its DaemonSet for Windows.
# Run this against the cluster of the pool, not against the management cluster.
# Addresses of a Windows node's block are its own.
kubectl patch ipamconfigurations.projectcalico.org default --type merge --patch '{"spec":{"strictAffinity":true}}'
# Pods of the host have no kube-proxy that leads to the API server yet.
kubectl apply -f - <<'EOF'
apiVersion: v1
kind: ConfigMap
metadata:
  name: kubernetes-services-endpoint
  namespace: tigera-operator
data:
  KUBERNETES_SERVICE_HOST: "fd00::10"
  KUBERNETES_SERVICE_PORT: "6443"
EOF
# The Cluster sets no network of its Services; 10.96.0.0/12 is kubeadm's default.
# Mode L2Bridge needs BGP enabled, on the Linux nodes as well.
kubectl patch installations.operator.tigera.io default --type merge --patch '{"spec":{"calicoNetwork":{"bgp":"Enabled","windowsDataplane":"HNS"},"serviceCIDRs":["10.96.0.0/12"]}}'
# The first pool of addresses; if there are several for IPv4, do the same with the others.
kubectl patch installations.operator.tigera.io default --type json --patch '[{"op":"add","path":"/spec/calicoNetwork/ipPools/0/encapsulation","value":"None"}]'
