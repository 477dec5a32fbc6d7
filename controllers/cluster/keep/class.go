package keep

import (
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Class is what an error of this room means.
type Class string

// The classes. All but ForNow last until a person changes something.
const (
	// ForNow: another try may do it.
	ForNow Class = ""
	// Foreign: an object of somebody else has the name and other content.
	Foreign Class = "Foreign"
	// Unserved: the API server knows no such kind.
	Unserved Class = "Unserved"
	// Forbidden: the user of the kubeconfig may not.
	Forbidden Class = "Forbidden"
	// TurnedDown: the API server answers that it does not do it. Other people's admission may refuse by any code.
	TurnedDown Class = "TurnedDown"
)

// ErrSettling is for who waits until objects act that were just written.
var ErrSettling = errors.New("the API servers do not apply the new objects yet")

// ForeignError is for an object that has the kind and name of one of ours, has other content and belongs to somebody else.
type ForeignError struct{ Object string }

// Error implements error.
func (e *ForeignError) Error() string { return e.Object + " is not capwin's" }

// Taken is the kind and name of the object that an error is about; empty if the error is not Foreign.
func Taken(err error) string {
	if foreign, ok := errors.AsType[*ForeignError](err); ok {
		return foreign.Object
	}
	return ""
}

// ClassOf returns the class of an error.
func ClassOf(err error) Class {
	answer, _ := errors.AsType[*apierrors.StatusError](err)
	switch {
	case Taken(err) != "":
		return Foreign
	case apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err):
		return Unserved
	case apierrors.IsForbidden(err):
		return Forbidden
	case answer == nil:
		return ForNow
	}
	if code := answer.Status().Code; code/100 != 4 || slices.Contains(passing, code) {
		return ForNow
	}
	return TurnedDown
}

// passing are the codes of refusals that end by themselves.
var passing = []int32{http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}
