// Package alerts tests manifests/monitoring: that each alert fires when it should and only then, that every query can be
// parsed, and that what is asked for is what the program counts.
package alerts

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"go.yaml.in/yaml/v2"
)

const root = "../.."

type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) map[string]alert {
	t.Helper()
	var file struct {
		Spec struct{ Groups []struct{ Rules []alert } }
	}
	if err := yaml.Unmarshal(read(t, "manifests/monitoring/alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]alert{}
	for _, group := range file.Spec.Groups {
		for _, rule := range group.Rules {
			all[rule.Alert] = rule
		}
	}
	return all
}

const leader = `leader_election_master_status{job="ichor", name="ichor-controller", instance="%"} `

// Series from minute 0 to 30; what is asked is minute 30. "_" is a scrape that failed.
var cases = map[string]struct{ fires, quiet []string }{
	"IchorDown": {
		fires: []string{``, `up{job="ichor", instance="a"} 0x30`, `up{job="other"} 1x30`},
		quiet: []string{`up{job="ichor", instance="a"} 0x30` + "\n" + `up{job="ichor", instance="b"} 1x30`},
	},
	"IchorNoLeader": {
		fires: []string{``, at("a", leader) + `0x30`, strings.Replace(at("a", leader), "ichor-controller", "ichor-cluster-prod", 1) + `1x30`},
		quiet: []string{at("a", leader) + `0x30` + "\n" + at("b", leader) + `1x30`},
	},
	"IchorSeveralLeaders": {
		fires: []string{at("a", leader) + `1x30` + "\n" + at("b", leader) + `1x30`},
		quiet: []string{at("a", leader) + `1x30` + "\n" + at("b", leader) + `0x30`},
	},
	"IchorAdmissionErrors": {
		fires: []string{`controller_runtime_webhook_requests_total{job="ichor", webhook="w", code="500"} 0+1x30`,
			`ichor_admission_decisions_total{job="ichor", resource="r", reason="InternalError"} 0+1x30`},
		quiet: []string{`controller_runtime_webhook_requests_total{job="ichor", webhook="w", code="500"} 7x30`,
			`controller_runtime_webhook_requests_total{job="ichor", webhook="w", code="400"} 0+1x30`,
			`ichor_admission_decisions_total{job="ichor", resource="r", reason="Forbidden"} 0+1x30`},
	},
	"IchorAdmissionSlow": {
		fires: []string{latency("2.5", 0) + latency("5.0", 10) + latency("+Inf", 10)},
		quiet: []string{latency("1.0", 10) + latency("2.5", 10) + latency("+Inf", 10), latency("1.0", 0) + latency("+Inf", 0)},
	},
	"IchorReconcileErrors": {
		fires: []string{`controller_runtime_reconcile_errors_total{job="ichor", controller="c"} 0+1x30`},
		quiet: []string{`controller_runtime_reconcile_errors_total{job="ichor", controller="c"} 100x30`,
			`controller_runtime_reconcile_errors_total{job="ichor", controller="c"} 0x20 1 2 3x8`},
	},
	"IchorQueueWaits": {
		fires: []string{`workqueue_depth{job="ichor", controller="c", instance="a"} 3x30` + "\n" + `workqueue_depth{job="ichor", controller="c", instance="b"} 0x30`},
		quiet: []string{`workqueue_depth{job="ichor", controller="c"} 9x20 0 9x9`},
	},
	"IchorUndecodableObjects": {
		fires: []string{`ichor_undecodable_objects{job="ichor", controller="c"} 1x30`},
		quiet: []string{`ichor_undecodable_objects{job="ichor", controller="c"} 0x30`},
	},
	"IchorReclaimFailed": {
		fires: []string{`ichor_reclaims_ended_total{job="ichor", phase="Failed"} 0x20 1x10`},
		quiet: []string{`ichor_reclaims_ended_total{job="ichor", phase="Failed"} 3x30`, `ichor_reclaims_ended_total{job="ichor", phase="Done"} 0+1x30`},
	},
	"IchorCertificateEnds": { // time() is 1800 at minute 30
		fires: []string{`ichor_serving_certificate_expiry_timestamp_seconds{job="ichor", certificate="leaf", instance="a"} 9999999x30` + "\n" +
			`ichor_serving_certificate_expiry_timestamp_seconds{job="ichor", certificate="leaf", instance="b"} 1200000x30`},
		quiet: []string{`ichor_serving_certificate_expiry_timestamp_seconds{job="ichor", certificate="leaf"} 1300000x30`},
	},
	"IchorCertificateRefused": {
		fires: []string{`ichor_serving_certificate_reloads_total{job="ichor", result="refused"} 0+1x30`},
		quiet: []string{`ichor_serving_certificate_reloads_total{job="ichor", result="refused"} 2x30`,
			`ichor_serving_certificate_reloads_total{job="ichor", result="served"} 0+1x30`},
	},
}

func at(instance, series string) string { return strings.Replace(series, "%", instance, 1) }

func latency(le string, perMinute int) string {
	return `controller_runtime_webhook_latency_seconds_bucket{job="ichor", webhook="w", le="` + le + `"} 0+` + string(rune('0'+perMinute/10)) + "0x30\n"
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	all := alerts(t)
	if len(all) != len(cases) {
		t.Errorf("%d alerts, %d of them with cases", len(all), len(cases))
	}
	engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{MaxSamples: 100_000, Timeout: time.Minute})
	guide := string(read(t, "docs/operations.md"))
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			rule := all[name]
			if !strings.Contains(guide, "`"+name+"`") && !strings.Contains(guide, " "+name+"\n") {
				t.Error("docs/operations.md does not say what to do")
			}
			for want, inputs := range map[bool][]string{true: test.fires, false: test.quiet} {
				for _, series := range inputs {
					storage := promqltest.LoadedStorage(t, "load 1m\n"+strings.TrimSpace(series))
					query, err := engine.NewInstantQuery(t.Context(), storage, nil, rule.Expr, time.Unix(0, 0).Add(30*time.Minute))
					if err != nil {
						t.Fatal(err)
					}
					found, err := query.Exec(t.Context()).Vector()
					if err != nil {
						t.Fatal(err)
					}
					if (len(found) > 0) != want {
						t.Errorf("fires is %v for\n%s", !want, series)
					}
				}
			}
			if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || rule.Labels["severity"] == "" {
				t.Error("it lacks a summary, a description or a severity")
			}
		})
	}
}

func TestEveryMetricIsCounted(t *testing.T) {
	counted := map[string]bool{"up": true} // Prometheus's own
	for name := range registered(t) {
		for _, suffix := range []string{"", "_total", "_bucket", "_sum", "_count"} {
			counted[name+suffix] = true
		}
	}
	for where, query := range queries(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			if selector, ok := node.(*parser.VectorSelector); ok && !counted[selector.Name] {
				t.Errorf("%s: nothing counts %s", where, selector.Name)
			}
			return nil
		})
	}
}

// queries are those of the alerts and the dashboard.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, rule := range alerts(t) {
		all[name] = rule.Expr
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "manifests/monitoring/ichor.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	places := map[[2]int]bool{}
	for _, panel := range dashboard.Panels {
		place := [2]int{panel.GridPos.X, panel.GridPos.Y}
		if places[place] || panel.GridPos.X+panel.GridPos.W > 24 || len(panel.Targets) == 0 {
			t.Errorf("panel %d %q lies over another one, beyond the edge, or shows nothing", panel.ID, panel.Title)
		}
		places[place] = true
		for i, target := range panel.Targets {
			all[panel.Title+string(rune('A'+i))] = strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
		}
	}
	return all
}

// registered are the names in the sources; Prometheus's client for Rust adds the suffixes.
func registered(t *testing.T) map[string]bool {
	t.Helper()
	register := regexp.MustCompile(`\.register(?:_with_unit)?\(\s*"([a-z_]+)"`)
	names := map[string]bool{}
	for _, folder := range []string{"src", "webhook/src"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".rs" {
				return err
			}
			source, err := os.ReadFile(path)
			for _, found := range register.FindAllStringSubmatch(string(source), -1) {
				names[found[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
