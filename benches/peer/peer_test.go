package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const uuid = "4c4c4544-0042-3510-8052-b4c04f463133"

// world is what the API server would know: who may do what, and which objects there are.
type world struct {
	everything

	may     map[string]bool
	failing bool
	asked   []string
	others  []*MachineReclaim
	bundles map[string]string
	volumes []TalosStorage
	running []TalosOperation
}

func (w *world) allowed(_ context.Context, user authenticationv1.UserInfo, a authorizationv1.ResourceAttributes) (bool, error) {
	question := user.Username + " " + a.Verb + " " + a.Resource
	w.asked = append(w.asked, question)

	if w.failing {
		return false, errors.New("connection refused")
	}

	return w.may[question], nil
}

func (w *world) bundle(_ context.Context, _, name string) (string, error) {
	if id := w.bundles[name]; id != "" {
		return id, nil
	}

	return "", errNoBundle
}

func (w *world) storages(context.Context, string) ([]TalosStorage, error) { return w.volumes, nil }

func (w *world) operations(context.Context, string, string) ([]TalosOperation, error) {
	return w.running, nil
}

func (w *world) secretType(_ context.Context, _, name string) (corev1.SecretType, error) {
	return map[string]corev1.SecretType{"creds": talosconfigSecretType, "other": corev1.SecretTypeOpaque}[name], nil
}

func (w *world) unfinished(_ context.Context, _ string, clashes func(*MachineReclaim) bool) (*MachineReclaim, error) {
	for _, other := range w.others {
		if clashes(other) {
			return other, nil
		}
	}

	return nil, nil
}

func asked(spec, metadata, status string) string {
	return `{"apiVersion":"ichor.maesh.dev/v1alpha1","kind":"MachineReclaim","metadata":{"name":"a","namespace":"ichor-system"` +
		metadata + `},"spec":{` + spec + `},"status":{` + status + `}}`
}

const (
	byCluster = `"address":"10.5.0.7","clusterRef":{"name":"prod"},"clusterCredentials":true`
	bySecret  = `"address":"10.5.0.7","credentialSecretRef":{"name":"creds"}`
	createdBy = `,"annotations":{"ichor.maesh.dev/requested-by":"ann"}`
	// Every change of a spec is given the ID of its review.
	identified = `{"op":"add","path":"/metadata/annotations/ichor.maesh.dev~1request-id","value":"u1"}`
	inspected  = `"inspection":{"identity":{"uuid":"` + uuid + `"}}`
)

// review sends one AdmissionReview through the HTTP handler; an empty old makes it a creation.
func review(t *testing.T, hook http.Handler, old, object string) *admissionv1.AdmissionResponse {
	t.Helper()

	request := &admissionv1.AdmissionRequest{
		UID:       "u1",
		Name:      "a",
		Namespace: "ichor-system",
		Operation: admissionv1.Create,
		UserInfo:  authenticationv1.UserInfo{Username: "ann"},
		Object:    runtime.RawExtension{Raw: []byte(object)},
	}

	if old != "" {
		request.Operation, request.OldObject = admissionv1.Update, runtime.RawExtension{Raw: []byte(old)}
	}

	sent := admissionv1.AdmissionReview{Request: request}
	sent.APIVersion, sent.Kind = "admission.k8s.io/v1", "AdmissionReview"

	body, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}

	posted := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
	posted.Header.Set("Content-Type", "application/json")

	recorder := httptest.NewRecorder()
	hook.ServeHTTP(recorder, posted)

	var got admissionv1.AdmissionReview

	if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || got.Response == nil || got.Response.UID != "u1" {
		t.Fatalf("answer %s: %v", recorder.Body, err)
	}

	return got.Response
}

func newAsks(w *world) *asks {
	return &asks{decoder: admission.NewDecoder(newScheme()), access: w, references: w, namespace: "ichor-system"}
}

func newHandler(w *world) *reclaims { return &reclaims{newAsks(w)} }

func TestMutatePatchesOnlyWhatChanges(t *testing.T) {
	hook := hook(newHandler(&world{}).mutate)

	for name, test := range map[string]struct{ old, object, want string }{
		"new": {"", asked(byCluster, "", ""),
			`[{"op":"add","path":"/metadata/annotations","value":{"ichor.maesh.dev/request-id":"u1","ichor.maesh.dev/requested-by":"ann"}}]`},
		"new with another annotation": {"", asked(byCluster, `,"annotations":{"a":"b"}`, ""),
			`[` + identified + `,{"op":"add","path":"/metadata/annotations/ichor.maesh.dev~1requested-by","value":"ann"}]`},
		"forged creator": {"", asked(byCluster, `,"annotations":{"ichor.maesh.dev/requested-by":"bob"}`, ""),
			`[` + identified + `,{"op":"add","path":"/metadata/annotations/ichor.maesh.dev~1requested-by","value":"ann"}]`},
		"address": {"", asked(`"address":"[FC00:22::0002]"`, createdBy, ""),
			`[` + identified + `,{"op":"replace","path":"/spec/address","value":"fc00:22::2"}]`},
		"bad address is left for the validation": {"", asked(`"address":"worker-7"`, createdBy, ""), `[` + identified + `]`},
		"UUID": {asked(byCluster, createdBy, ""), asked(byCluster+`,"confirmUUID":"`+strings.ToUpper(uuid)+`"`, createdBy, ""),
			`[` + identified + `,{"op":"replace","path":"/spec/confirmUUID","value":"` + uuid + `"}]`},
		"creator removed by hand": {asked(byCluster, createdBy, ""), asked(byCluster, "", ""),
			`[{"op":"add","path":"/metadata/annotations","value":{"ichor.maesh.dev/requested-by":"ann"}}]`},
		"creator set where none was": {asked(byCluster, "", ""), asked(byCluster, createdBy, ""),
			`[{"op":"remove","path":"/metadata/annotations/ichor.maesh.dev~1requested-by"}]`},
		"created already stamped": {"", asked(byCluster, createdBy, ""), `[` + identified + `]`},
		"only labels":             {asked(byCluster, createdBy, ""), asked(byCluster, createdBy+`,"labels":{"a":"b"}`, ""), ""},
	} {
		if got := review(t, hook, test.old, test.object); !got.Allowed || string(got.Patch) != test.want {
			t.Errorf("%s: patch %s, want %s", name, got.Patch, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	operator := map[string]bool{"ann reclaim machinereclaims": true, "ann get secrets": true}
	confirmed := `,"confirmUUID":"` + uuid + `"`

	other := &MachineReclaim{}
	if err := json.Unmarshal([]byte(strings.Replace(asked(byCluster+confirmed, createdBy, inspected), `"name":"a"`, `"name":"b"`, 1)), other); err != nil {
		t.Fatal(err)
	}

	for name, test := range map[string]struct {
		may         map[string]bool
		failing     bool
		old, object string
		code        int32
		want        string
		unasked     bool
		others      []*MachineReclaim
		warning     string
	}{
		"by cluster":                  {may: operator, object: asked(byCluster, createdBy, ""), code: 200},
		"by secret":                   {may: operator, object: asked(bySecret, createdBy, ""), code: 200},
		"no verb":                     {object: asked(byCluster, createdBy, ""), code: 403, want: `needs verb "reclaim"`},
		"no review":                   {failing: true, may: operator, object: asked(byCluster, createdBy, ""), code: 500, want: "could not be checked"},
		"secret they cannot get":      {may: map[string]bool{"ann reclaim machinereclaims": true}, object: asked(bySecret, createdBy, ""), code: 403, want: "may not get Secret"},
		"unknown cluster":             {may: operator, object: asked(strings.Replace(byCluster, "prod", "dev", 1), createdBy, ""), code: 422, want: `spec.clusterRef.name: Not found: "dev"`},
		"unknown secret":              {may: operator, object: asked(strings.Replace(bySecret, "creds", "none", 1), createdBy, ""), code: 422, want: "Not found"},
		"secret of another type":      {may: operator, object: asked(strings.Replace(bySecret, "creds", "other", 1), createdBy, ""), code: 422, want: "must have type"},
		"both credentials":            {may: operator, object: asked(byCluster+`,"credentialSecretRef":{"name":"creds"}`, createdBy, ""), code: 422, want: "exactly one of"},
		"no credentials":              {may: operator, object: asked(`"address":"10.5.0.7"`, createdBy, ""), code: 422, want: "exactly one of"},
		"no cluster for credentials":  {may: operator, object: asked(`"address":"10.5.0.7","clusterCredentials":true`, createdBy, ""), code: 422, want: "spec.clusterRef: Required"},
		"no address":                  {may: operator, object: asked(strings.Replace(byCluster, "10.5.0.7", "worker-7", 1), createdBy, ""), code: 422, want: "not an IP address"},
		"consent before inspection":   {may: operator, object: asked(byCluster+confirmed, createdBy, ""), code: 422, want: "spec.confirmUUID: Forbidden"},
		"creator of another name":     {may: operator, object: asked(byCluster, strings.Replace(createdBy, "ann\"", "bob\"", 1), ""), code: 422, want: "cannot be set or changed by hand"},
		"consent":                     {may: operator, old: asked(byCluster, createdBy, inspected), object: asked(byCluster+confirmed, createdBy, inspected), code: 200},
		"consent without verb":        {old: asked(byCluster, createdBy, inspected), object: asked(byCluster+confirmed, createdBy, inspected), code: 403, want: `needs verb "reclaim"`},
		"consent that is no UUID":     {may: operator, old: asked(byCluster, createdBy, inspected), object: asked(byCluster+`,"confirmUUID":"yes"`, createdBy, inspected), code: 422, want: "is not a UUID"},
		"consent withdrawn too late":  {may: operator, old: asked(byCluster+confirmed, createdBy, inspected), object: asked(byCluster, createdBy, inspected), code: 422, want: "spec.confirmUUID: Forbidden"},
		"force added too late":        {may: operator, old: asked(byCluster+confirmed, createdBy, inspected), object: asked(byCluster+confirmed+`,"force":true`, createdBy, inspected), code: 422, want: "spec.force: Forbidden"},
		"wrong UUID may be corrected": {may: operator, old: asked(byCluster+strings.Replace(confirmed, "4c4c", "5c5c", 1), createdBy, inspected), object: asked(byCluster+confirmed, createdBy, inspected), code: 200},
		"consent too early":           {may: operator, old: asked(byCluster, createdBy, ""), object: asked(byCluster+confirmed, createdBy, ""), code: 422, want: "not inspected yet"},
		"a name that is none":         {may: operator, object: asked(strings.Replace(byCluster, "prod", "../prod", 1), createdBy, ""), code: 422, want: "spec.clusterRef.name: Invalid"},
		"a local address":             {may: operator, object: asked(strings.Replace(byCluster, "10.5.0.7", "::ffff:127.0.0.2", 1), createdBy, ""), code: 422, want: "--allow-local-addresses"},
		"the address of another":      {may: operator, others: []*MachineReclaim{other}, object: asked(byCluster, createdBy, ""), code: 422, want: `spec.address: Duplicate value: "10.5.0.7": MachineReclaim "b" has not ended`},
		"the machine of another":      {may: operator, others: []*MachineReclaim{other}, old: asked(byCluster, createdBy, inspected), object: asked(byCluster+confirmed, createdBy, inspected), code: 422, want: "spec.confirmUUID: Duplicate value"},
		"force without a name":        {may: operator, object: asked(byCluster+`,"force":true`, createdBy, ""), code: 200, warning: "spec.force has no effect"},
		"force with another name":     {may: operator, object: asked(byCluster+`,"force":true,"confirmClusterName":"dev"`, createdBy, ""), code: 200, warning: `"dev" is not the cluster's name "prod"`},
		"ungraceful":                  {may: operator, object: asked(byCluster+`,"forceUngraceful":true`, createdBy, ""), code: 200, warning: "does not leave etcd"},
		"a wrong UUID":                {may: operator, old: asked(byCluster, createdBy, inspected), object: asked(byCluster+strings.Replace(confirmed, "4c4c", "5c5c", 1), createdBy, inspected), code: 200, warning: "nothing is wiped"},
		"the UUID in another order":   {may: operator, old: asked(byCluster, createdBy, inspected), object: asked(byCluster+strings.Replace(confirmed, "4c4c4544-0042-3510", "44454c4c-4200-1035", 1), createdBy, inspected), code: 200, warning: "another byte order"},
		"labels need no verb":         {old: asked(byCluster, createdBy, ""), object: asked(byCluster, createdBy+`,"labels":{"a":"b"}`, ""), code: 200, unasked: true},
		"address changed":             {may: operator, old: asked(byCluster, createdBy, ""), object: asked(strings.Replace(byCluster, "0.7", "0.8", 1), createdBy, ""), code: 422, want: "spec.address: Forbidden"},
		"cluster cleared":             {may: operator, old: asked(bySecret+`,"clusterRef":{"name":"prod"}`, createdBy, ""), object: asked(bySecret, createdBy, ""), code: 422, want: "spec.clusterRef: Forbidden"},
		"cluster added":               {may: operator, old: asked(bySecret, createdBy, ""), object: asked(bySecret+`,"clusterRef":{"name":"prod"}`, createdBy, ""), code: 422, want: "spec.clusterRef: Forbidden"},
		"credentials swapped, terminating": {may: operator, old: asked(byCluster, createdBy+`,"deletionTimestamp":"2026-01-01T00:00:00Z"`, ""),
			object: asked(bySecret+`,"clusterRef":{"name":"prod"}`, createdBy+`,"deletionTimestamp":"2026-01-01T00:00:00Z"`, ""), code: 422, want: "spec.credentialSecretRef: Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			known := &world{may: test.may, failing: test.failing, others: test.others}

			got := review(t, hook(newHandler(known).validate), test.old, test.object)
			if got.Allowed != (test.code == 200) || got.Result.Code != test.code || !strings.Contains(got.Result.Message, test.want) {
				t.Errorf("allowed %t, %d %s", got.Allowed, got.Result.Code, got.Result.Message)
			}

			if (len(known.asked) == 0) != test.unasked {
				t.Errorf("reviewed %q", known.asked)
			}

			if said := strings.Join(got.Warnings, "; "); !strings.Contains(said, test.warning) || (said != "") != (test.warning != "") {
				t.Errorf("warned %q, want %q", said, test.warning)
			}

			if got.AuditAnnotations["address"] == "" || (got.AuditAnnotations["decision"] == "allowed") != got.Allowed {
				t.Errorf("audit annotations %v", got.AuditAnnotations)
			}
		})
	}
}

func TestOnlyOneNamespaceIsRead(t *testing.T) {
	handler := newHandler(&world{})
	handler.namespace = "elsewhere"

	got := review(t, hook(handler.validate), "", asked(byCluster, createdBy, ""))
	if got.Allowed || !strings.Contains(got.Result.Message, "metadata.namespace: Invalid value") {
		t.Errorf("allowed %t, %s", got.Allowed, got.Result.Message)
	}
}
