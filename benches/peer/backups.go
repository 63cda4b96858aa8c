package main

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the image has no time zones of its own

	"filippo.io/age"
	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// BackupSpec says when and where snapshots of etcd go.
type BackupSpec struct {
	plain

	ClusterRef LocalReference `json:"clusterRef"`
	Schedule   string         `json:"schedule"`
	TimeZone   string         `json:"timeZone,omitempty"`
	Suspend    *bool          `json:"suspend,omitempty"`
	Retention  *struct {
		Count  *int   `json:"count,omitempty"`
		MaxAge string `json:"maxAge,omitempty"`
	} `json:"retention,omitempty"`
	Destination struct {
		S3 *struct {
			Endpoint             string         `json:"endpoint"`
			Bucket               string         `json:"bucket"`
			Prefix               string         `json:"prefix,omitempty"`
			Region               string         `json:"region,omitempty"`
			PathStyle            *bool          `json:"pathStyle,omitempty"`
			CABundle             string         `json:"caBundle,omitempty"`
			CredentialsSecretRef LocalReference `json:"credentialsSecretRef"`
		} `json:"s3,omitempty"`
		Volume *struct {
			ClaimName string `json:"claimName"`
			Path      string `json:"path,omitempty"`
		} `json:"volume,omitempty"`
	} `json:"destination"`
	Encryption *struct {
		Recipients []string `json:"recipients"`
	} `json:"encryption,omitempty"`
}

func (s *BackupSpec) needs(string) []need {
	if s.Destination.S3 == nil {
		return nil
	}

	return []need{useSecret(s.Destination.S3.CredentialsSecretRef.Name)}
}

func (s *BackupSpec) fields(a *asks) field.ErrorList {
	errs := validateName(&s.ClusterRef, "clusterRef")

	if schedule, err := cron.ParseStandard(s.Schedule); err != nil || schedule.Next(time.Unix(0, 0)).IsZero() {
		errs = append(errs, field.Invalid(specPath.Child("schedule"), s.Schedule, "must be the five fields of cron for a time that comes"))
	}

	if !isTimeZone(s.TimeZone) {
		errs = append(errs, field.Invalid(specPath.Child("timeZone"), s.TimeZone, "is no time zone of the IANA database"))
	}

	errs = append(errs, s.validateRetention()...)
	errs = append(errs, s.validateDestination(a.local)...)

	if s.Encryption != nil {
		for _, recipient := range s.Encryption.Recipients {
			if _, err := age.ParseX25519Recipient(recipient); err != nil {
				errs = append(errs, field.Forbidden(specPath.Child("encryption", "recipients"), "holds something that is no public key of age"))
			}
		}
	}

	return errs
}

// zones that were asked for: each is a file to be read and decoded.
var zones sync.Map

func isTimeZone(name string) bool {
	if _, known := zones.Load(name); known {
		return true
	}

	location, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, location)
	}

	return err == nil
}

func (s *BackupSpec) validateRetention() field.ErrorList {
	kept, path := s.Retention, specPath.Child("retention")
	if kept == nil {
		return nil
	}

	var errs field.ErrorList

	if kept.Count == nil && kept.MaxAge == "" {
		errs = append(errs, field.Required(path, "needs count, maxAge or both"))
	}

	if kept.Count != nil && *kept.Count < 1 {
		errs = append(errs, field.Invalid(path.Child("count"), *kept.Count, "keeps no snapshot at all: at least 1"))
	}

	if age, err := time.ParseDuration(kept.MaxAge); kept.MaxAge != "" && (err != nil || age < time.Hour) {
		errs = append(errs, field.Invalid(path.Child("maxAge"), kept.MaxAge, "must be a duration of at least 1h"))
	}

	return errs
}

func (s *BackupSpec) validateDestination(local bool) field.ErrorList {
	var errs field.ErrorList

	s3, path := s.Destination.S3, specPath.Child("destination")
	if (s3 == nil) == (s.Destination.Volume == nil) {
		errs = append(errs, field.Required(path, "exactly one of s3 and volume is needed"))
	}

	if s3 == nil {
		return errs
	}

	errs = append(errs, validateName(&s3.CredentialsSecretRef, "credentialsSecretRef")...)
	path = path.Child("s3", "endpoint")

	service, err := url.Parse(s3.Endpoint)
	if err != nil || service.Hostname() == "" {
		return append(errs, field.Invalid(path, s3.Endpoint, "must be the URL of the service"))
	}

	if _, err := netip.ParseAddr(service.Hostname()); err == nil {
		errs = append(errs, validateNodeAddress(path, service.Hostname(), local)...)
	}

	if service.Scheme != "https" && s.Encryption == nil {
		errs = append(errs, field.Invalid(path, s3.Endpoint, "without https needs encryption: a snapshot holds every Secret of the cluster"))
	}

	return errs
}

func (s *BackupSpec) lookUp(ctx context.Context, a *asks, _ string) (field.ErrorList, []string) {
	_, errs := a.clusterOf(ctx, s.ClusterRef)

	if s3 := s.Destination.S3; s3 != nil {
		path, name := specPath.Child("destination", "s3", "credentialsSecretRef", "name"), s3.CredentialsSecretRef.Name

		switch kind, err := a.references.secretType(ctx, a.namespace, name); {
		case err != nil:
			errs = append(errs, field.InternalError(path, err))
		case kind == "":
			errs = append(errs, field.NotFound(path, name))
		}
	}

	return errs, s.warnings()
}

func (s *BackupSpec) warnings() []string {
	var all []string

	if s.Encryption == nil {
		all = append(all, "spec.encryption is absent: a snapshot holds every Secret of the cluster")
	}

	if shortest := shortestDistance(s.Schedule); shortest < 5*time.Minute {
		all = append(all, fmt.Sprintf("spec.schedule takes snapshots %s apart: each reads all of etcd", shortest))
	}

	return all
}

// shortestDistance between two snapshots of a week, looked for in at most 300 of them.
func shortestDistance(text string) time.Duration {
	shortest := 7 * 24 * time.Hour

	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return shortest
	}

	begin := time.Unix(0, 0).UTC()
	last := schedule.Next(begin)

	for range 300 {
		next := schedule.Next(last)
		if next.IsZero() || next.Sub(begin) > 7*24*time.Hour {
			break
		}

		shortest, last = min(shortest, next.Sub(last)), next
	}

	return shortest
}

func (s *BackupSpec) audit() map[string]string {
	audit := map[string]string{"cluster": s.ClusterRef.Name, "encrypted": strconv.FormatBool(s.Encryption != nil)}

	switch {
	case s.Destination.S3 != nil:
		audit["destination"] = strings.Join([]string{s.Destination.S3.Endpoint, s.Destination.S3.Bucket}, "/")
	case s.Destination.Volume != nil:
		audit["destination"] = "volume " + s.Destination.Volume.ClaimName
	}

	return audit
}
