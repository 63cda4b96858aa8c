package main

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// accessReviewer tells whether a user may do something; an error means that it could not be found out.
type accessReviewer interface {
	allowed(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (bool, error)
}

// checkAccess denies whoever lacks verb reclaim, or would use a Secret they may not read themselves.
func (h *reclaims) checkAccess(ctx context.Context, request *admissionv1.AdmissionRequest, reclaim *MachineReclaim) error {
	resource := schema.GroupResource{Group: groupVersion.Group, Resource: reclaimsResource}

	deny := func(format string, args ...any) error {
		return apierrors.NewForbidden(resource, request.Name, fmt.Errorf(format, args...))
	}

	may, err := h.access.allowed(ctx, request.UserInfo, authorizationv1.ResourceAttributes{
		Namespace: request.Namespace,
		Verb:      reclaimVerb,
		Group:     resource.Group,
		Resource:  resource.Resource,
		Name:      request.Name,
	})
	if err != nil {
		return unknown("whether user %q has verb %q could not be checked, so it is refused: %w", request.UserInfo.Username, reclaimVerb, err)
	}

	if !may {
		return deny("user %q needs verb %q on %s in namespace %s (role %s has it)",
			request.UserInfo.Username, reclaimVerb, resource, request.Namespace, operatorRole)
	}

	secret := reclaim.Spec.CredentialSecretRef
	if secret == nil {
		return nil
	}

	may, err = h.access.allowed(ctx, request.UserInfo, authorizationv1.ResourceAttributes{
		Namespace: request.Namespace,
		Verb:      "get",
		Resource:  string(corev1.ResourceSecrets),
		Name:      secret.Name,
	})
	if err != nil {
		return unknown("whether user %q may get Secret %q could not be checked, so it is refused: %w", request.UserInfo.Username, secret.Name, err)
	}

	if !may {
		return deny("user %q may not get Secret %q, whose credentials the request would use", request.UserInfo.Username, secret.Name)
	}

	return nil
}

// unknown denies because something could not be found out.
func unknown(format string, args ...any) error {
	return apierrors.NewInternalError(fmt.Errorf(format, args...))
}

// apiServer reviews through SubjectAccessReview.
type apiServer struct {
	client authorizationclient.AuthorizationV1Interface
}

func newAPIServer(config *rest.Config) (apiServer, error) {
	client, err := authorizationclient.NewForConfig(config)

	return apiServer{client}, err
}

func (s apiServer) allowed(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}

	review, err := s.client.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               user.Username,
			UID:                user.UID,
			Groups:             user.Groups,
			Extra:              extra,
			ResourceAttributes: &attributes,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}

	return review.Status.Allowed, nil
}
