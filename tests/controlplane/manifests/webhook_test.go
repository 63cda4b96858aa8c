package manifests

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

// serving is a self-signed certificate for the name that the API server verifies.
var serving = sync.OnceValue(func() certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		DNSNames:              []string{"ichor-webhook.ichor-system.svc"},
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return certificate{der: der, key: key}
})

// The overlay makes the API server reach a webhook on loopback under the name of its Service.
func TestGroundReachesTheWebhook(t *testing.T) {
	var lock sync.Mutex
	var paths []string
	webhook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct{ Request struct{ UID string } }
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		lock.Lock()
		paths = append(paths, r.URL.Path)
		lock.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true}}`, review.Request.UID)
	}))
	cert := serving()
	webhook.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.der}, PrivateKey: cert.key}}}
	webhook.StartTLS()
	defer webhook.Close()
	_, port, _ := strings.Cut(webhook.Listener.Addr().String(), ":")

	plane := planetest.Start(t)
	rendered := plane.Kubectl(t, "kustomize", ground())
	if found := strings.Count(rendered, "port: 9443"); found != 16 {
		t.Fatalf("the overlay names the placeholder port %d times", found)
	}
	rendered = strings.ReplaceAll(rendered, "port: 9443", "port: "+port)
	plane.KubectlInput(t, rendered, "apply", "-f", "-")
	for _, kind := range []string{"mutatingwebhookconfiguration", "validatingwebhookconfiguration"} {
		plane.Kubectl(t, "patch", kind, "ichor", "--type=json", "-p", trusting(t, plane, kind))
	}

	// The configurations are in force a moment after they were written.
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, refusal, ok := plane.KubectlOutcome(t, named("one"), "create", "-f", "-")
		if ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(refusal)
		}
	}
	lock.Lock()
	defer lock.Unlock()
	for _, path := range []string{"/mutate/machinereclaims", "/validate/machinereclaims"} {
		if !slices.Contains(paths, path) {
			t.Errorf("%s was not asked, only %v", path, paths)
		}
	}
}

// trusting is the patch that makes every webhook of a configuration trust the certificate.
func trusting(t *testing.T, plane *planetest.Plane, kind string) string {
	t.Helper()
	var patch []string
	for i := range strings.Fields(plane.Kubectl(t, "get", kind, "ichor", "-o", "jsonpath={.webhooks[*].name}")) {
		patch = append(patch, fmt.Sprintf(`{"op":"add","path":"/webhooks/%d/clientConfig/caBundle","value":%q}`, i, serving().caBundle()))
	}
	return "[" + strings.Join(patch, ",") + "]"
}

type certificate struct {
	der []byte
	key *ecdsa.PrivateKey
}

func (c certificate) caBundle() string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.der}))
}
