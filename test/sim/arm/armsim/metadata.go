package armsim

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// open serves what needs no token: the clouds that there are, and boot logs by their signed address.
func (c *Cloud) open(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.URL.Path == "/metadata/endpoints":
		c.Change(func(in *Inside) {
			in.calls = append(in.calls, Call{Method: r.Method, Class: "metadata", Status: http.StatusOK})
		})
		c.endpoints(w, r)
	case strings.HasPrefix(r.URL.Path, "/bootdiagnostics/"):
		c.readLog(w, r)
	default:
		return false
	}
	return true
}

// endpoints is how clients of a custom cloud find its parts. From 2019-05-01 on it is a list of clouds, as the cloud controller
// manager reads it [V].
func (c *Cloud) endpoints(w http.ResponseWriter, r *http.Request) {
	url := c.Endpoint()
	if r.URL.Query().Get("api-version") < "2019-05-01" {
		reply.JSON(w, http.StatusOK, doc.Object{
			"galleryEndpoint": url, "graphEndpoint": url, "portalEndpoint": url,
			"authentication": doc.Object{"loginEndpoint": url, "audiences": []any{url, Audience}},
		})
		return
	}
	reply.JSON(w, http.StatusOK, []any{doc.Object{
		"name": "AzureStackCloud", "portal": url, "graph": url, "gallery": url, "resourceManager": url, "batch": url, "media": url,
		"authentication": doc.Object{
			"loginEndpoint": url, "audiences": []any{url, Audience}, "tenant": Tenant, "identityProvider": "AAD",
		},
		"suffixes": doc.Object{
			"storage": strings.TrimPrefix(url, "https://"), "keyVaultDns": "vault.azure.test", "acrLoginServer": "azurecr.test",
			"sqlServerHostname": "database.azure.test",
		},
	}})
}

// bootLog is a signed address of a boot log.
type bootLog struct {
	vm      doc.ID
	expires time.Time
}

// The addresses hold for 120 minutes unless the client asks for 1 to 1,440 [D].
const usualExpiry, longestExpiry = 120, 1440

func (in *Inside) bootLog(q *request) (*answer, *reply.Error) {
	if refused := in.Compute.MayReadBootLog(q.id); refused != nil {
		return nil, refused
	}
	minutes := usualExpiry
	if asked := q.query.Get("sasUriExpirationTimeInMinutes"); asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil || n < 1 || n > longestExpiry {
			return nil, reply.InvalidParameter("sasUriExpirationTimeInMinutes",
				"The value of parameter sasUriExpirationTimeInMinutes is invalid. It must be between 1 and 1440.")
		}
		minutes = n
	}
	signature := in.World.Suffix(32)
	in.logs[signature] = bootLog{vm: q.id, expires: in.World.Clock.Now().Add(time.Duration(minutes) * time.Minute)}
	base := in.Tokens.Endpoint + "/bootdiagnostics/" + q.id.Name() + "."
	query := "?" + url.Values{
		"sv": {"2021-12-02"}, "sr": {"b"}, "sp": {"r"}, "sig": {signature},
		"se": {in.logs[signature].expires.Format(time.RFC3339)},
	}.Encode()
	return ok(doc.Object{
		"consoleScreenshotBlobUri": base + "screenshot.bmp" + query, "serialConsoleLogBlobUri": base + "serialconsole.log" + query,
	}), nil
}

// readLog is the storage service: it knows the signature only. It refuses a token, as storage does [D].
func (c *Cloud) readLog(w http.ResponseWriter, r *http.Request) {
	var log []byte
	var refused *reply.Error
	c.Change(func(in *Inside) {
		known, ok := in.logs[r.URL.Query().Get("sig")]
		switch {
		case r.Header.Get("Authorization") != "":
			refused = reply.New(http.StatusForbidden, "AuthenticationFailed", "Server failed to authenticate the request. A signature "+
				"and an "+
				"Authorization header exclude each other.")
		case !ok || !in.World.Clock.Now().Before(known.expires):
			refused = reply.New(http.StatusForbidden, "AuthenticationFailed", "Signature not valid in the specified time frame.")
		default:
			log = in.Compute.BootLog(known.vm)
		}
		in.calls = append(in.calls, Call{Method: r.Method, Class: "boot log", Status: http.StatusOK})
	})
	if refused != nil {
		refused.Write(w)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if strings.HasPrefix(r.Header.Get("Range"), "bytes=-") {
		r.Header.Del("Range") // the storage service knows none that count from the end [D]
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(log)))
}
