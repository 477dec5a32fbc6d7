package placement

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// Loans are the decisions of the operator: which namespaces may use which of the identities that the manager proves by itself,
// with its token or the managed identities of its node. No object that a tenant may write lends one.
type Loans []Loan

// Loan lends the identity of a client to a namespace, or to all of them, which is "*". Cloud is where the identity is; empty for
// the manager's usual one.
type Loan struct{ ClientID, Cloud, Namespace string }

// everyNamespace stands for all namespaces in an entry.
const everyNamespace = "*"

// ReadLoans reads entries of the form CLIENTID[@CLOUD]=NAMESPACE.
func ReadLoans(entries []string) (Loans, error) {
	var loans Loans
	for _, entry := range entries {
		if entry == "" {
			continue
		}
		loan, err := readLoan(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		for _, previous := range loans {
			if previous.ClientID == loan.ClientID && previous.Cloud != loan.Cloud {
				return nil, fmt.Errorf("%q: client %s is in another cloud in an entry before; an identity is in one cloud, so name the "+
					"same in each of its entries", entry, loan.ClientID)
			}
		}
		loans = append(loans, loan)
	}
	return loans, nil
}

func readLoan(entry string) (Loan, error) {
	holder, namespace, complete := strings.Cut(entry, "=")
	client, cloudName, withCloud := strings.Cut(holder, "@")
	loan := Loan{ClientID: strings.ToLower(client), Cloud: cloudName, Namespace: namespace}
	switch {
	case !complete || withCloud && cloudName == "":
		return loan, fmt.Errorf("%q is not of the form CLIENTID=NAMESPACE or CLIENTID@CLOUD=NAMESPACE, such as %s=team-a",
			entry, example)
	case client == everyNamespace:
		return loan, fmt.Errorf("%q would lend every identity that trusts the manager; name one client id in each entry", entry)
	case !GUID.MatchString(client):
		return loan, fmt.Errorf("%q does not begin with a client id such as %s", entry, example)
	case namespace != everyNamespace && len(validation.ValidateNamespaceName(namespace, false)) > 0:
		return loan, fmt.Errorf("%q lends to %q, which is not the name of a namespace; use one such as team-a, or * for all",
			entry, namespace)
	}
	return loan, nil
}

const example = "00000000-0000-0000-0000-000000000000"

// GUID is the form of the ids of Entra ID.
var GUID = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// Clouds are those that the entries name.
func (l Loans) Clouds() []string {
	var names []string
	for _, loan := range l {
		if loan.Cloud != "" {
			names = append(names, loan.Cloud)
		}
	}
	return names
}

// entryFor is the entry by which a namespace may use the identity of a client.
func (l Loans) entryFor(client, namespace string) (Loan, bool) {
	index := slices.IndexFunc(l, func(loan Loan) bool {
		return strings.EqualFold(loan.ClientID, client) && (loan.Namespace == namespace || loan.Namespace == everyNamespace)
	})
	if index < 0 {
		return Loan{}, false
	}
	return l[index], true
}

// String is the entry.
func (l Loan) String() string {
	text := l.ClientID
	if l.Cloud != "" {
		text += "@" + l.Cloud
	}
	return text + "=" + l.Namespace
}
