package supervisor

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// auditPolicy records every request, with its annotations, once it was answered.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// admission makes the API server show webhooks a client certificate; one that does not ask for it does not notice.
const admission = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: MutatingAdmissionWebhook
  configuration: &webhooks
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: %s
- name: ValidatingAdmissionWebhook
  configuration: *webhooks
`

// controllers of kube-controller-manager that tests and demo need; none that decides about Nodes, which the Talos
// simulator plays.
var controllers = []string{
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"root-ca-certificate-publisher-controller",
	"namespace-controller",
	"garbage-collector-controller",
	"clusterrole-aggregation-controller",
	"validatingadmissionpolicy-status-controller",
	"disruption-controller",
	"job-controller",
	"daemonset-controller",
}

// layout is the folder of one control plane: its files, and the arguments that refer to them.
type layout struct {
	dir, bin                     string
	apiPort, etcdPort, peersPort int
}

func newLayout(dir, bin string, ports []int) layout {
	return layout{dir: dir, bin: bin, apiPort: ports[0], etcdPort: ports[1], peersPort: ports[2]}
}

func (l layout) file(name string) string { return filepath.Join(l.dir, name) }
func (l layout) url() string             { return fmt.Sprintf("https://127.0.0.1:%d", l.apiPort) }
func (l layout) etcdURL() string         { return fmt.Sprintf("http://127.0.0.1:%d", l.etcdPort) }
func (l layout) peersURL() string        { return fmt.Sprintf("http://127.0.0.1:%d", l.peersPort) }

func (l layout) info() Info {
	return Info{
		URL:        l.url(),
		Kubeconfig: l.file("admin.kubeconfig"),
		CAFile:     l.file("ca.crt"),
		AuditLog:   l.file("audit.log"),
		Bin:        l.bin,
	}
}

func (l layout) etcd() []string {
	return []string{
		"--name=etcd",
		"--data-dir=" + l.file("etcd"),
		"--listen-client-urls=" + l.etcdURL(),
		"--advertise-client-urls=" + l.etcdURL(),
		"--listen-peer-urls=" + l.peersURL(),
		"--initial-advertise-peer-urls=" + l.peersURL(),
		"--initial-cluster=etcd=" + l.peersURL(),
		"--socket-reuse-port", // see ports
		"--unsafe-no-fsync",   // the data need not survive the machine
		"--log-level=warn",
	}
}

func (l layout) apiserver() []string {
	return []string{
		"--etcd-servers=" + l.etcdURL(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", l.apiPort),
		"--permit-port-sharing",           // see ports
		"--endpoint-reconciler-type=none", // the Service "kubernetes" cannot have a loopback address as its endpoint
		// A Service's address is dialled for webhooks: on loopback it is refused at once instead of leaving the machine.
		"--service-cluster-ip-range=127.96.0.0/16",
		"--cert-dir=" + l.dir,
		"--tls-cert-file=" + l.file("apiserver.crt"),
		"--tls-private-key-file=" + l.file("apiserver.key"),
		"--client-ca-file=" + l.file("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + l.file("service-accounts.key"),
		"--service-account-signing-key-file=" + l.file("service-accounts.key"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--admission-control-config-file=" + l.file("admission.yaml"),
		"--audit-policy-file=" + l.file("audit-policy.yaml"),
		"--audit-log-path=" + l.file("audit.log"),
		"--audit-log-maxsize=4096", // MB: one file holds the whole run
		"--profiling=false",
	}
}

func (l layout) controllerManager() []string {
	kubeconfig := l.file("controller-manager.kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--secure-port=0", // serves nothing
		"--leader-elect=false",
		"--controllers=" + strings.Join(controllers, ","),
		"--use-service-account-credentials",
		"--root-ca-file=" + l.file("ca.crt"),
		"--service-account-private-key-file=" + l.file("service-accounts.key"),
		"--profiling=false",
	}
}

// write fills the folder and returns the administrator's credentials.
func (l layout) write(caCert, caKey string) (*pair, error) {
	ca, err := loadOrMakeCA(caCert, caKey)
	if err != nil {
		return nil, err
	}
	server, err := ca.issueServer("kube-apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local", "localhost", "127.0.0.1", "127.96.0.1")
	if err != nil {
		return nil, err
	}
	admin, err := ca.issueClient("kubernetes-admin", "system:masters")
	if err != nil {
		return nil, err
	}
	manager, err := ca.issueClient("system:kube-controller-manager", "")
	if err != nil {
		return nil, err
	}
	webhooks, err := ca.issueClient("kube-apiserver-webhooks", "")
	if err != nil {
		return nil, err
	}
	signer, err := newKeyPEM()
	if err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{
		"ca.crt":                        ca.certPEM,
		"apiserver.crt":                 server.certPEM,
		"apiserver.key":                 server.keyPEM,
		"service-accounts.key":          signer,
		"audit-policy.yaml":             []byte(auditPolicy),
		"admission.yaml":                fmt.Appendf(nil, admission, l.file("webhooks.kubeconfig")),
		"webhooks.kubeconfig":           webhookKubeconfig(webhooks),
		"admin.kubeconfig":              l.kubeconfig(ca, admin),
		"controller-manager.kubeconfig": l.kubeconfig(ca, manager),
	} {
		if err := os.WriteFile(l.file(name), content, 0o600); err != nil {
			return nil, err
		}
	}
	admin.issuer = ca
	return admin, nil
}

func (l layout) kubeconfig(ca *authority, user *pair) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: ichor
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %[3]s
  user:
    client-certificate-data: %[4]s
    client-key-data: %[5]s
contexts:
- name: ichor
  context:
    cluster: ichor
    user: %[3]s
current-context: ichor
`, l.url(), encode(ca.certPEM), user.name, encode(user.certPEM), encode(user.keyPEM))
}

// webhookKubeconfig names the user of every webhook, whatever its host.
func webhookKubeconfig(user *pair) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
users:
- name: "*"
  user:
    client-certificate-data: %s
    client-key-data: %s
`, encode(user.certPEM), encode(user.keyPEM))
}
