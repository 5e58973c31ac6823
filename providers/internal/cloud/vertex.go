package cloud

import (
	"net/url"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
	"github.com/gajae-code/gjc/providers"
)

// Vertex is an account at Google Cloud, as described by the environment.
type Vertex struct {
	// Getenv reads an environment variable. If nil, the environment is empty.
	Getenv func(string) string
	// ReadFile reads the files of credentials. If nil, [os.ReadFile].
	ReadFile func(string) ([]byte, error)
	// Home is the home directory, which contains gcloud's credentials; empty for none.
	Home string
}

// The variables that name the project and the location.
var (
	projectVariables  = []string{"GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "GCP_PROJECT"}
	locationVariables = []string{"GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_LOCATION", "VERTEX_LOCATION"}
)

// Key returns the API key of the environment.
func (v Vertex) Key() string { return first(v.Getenv, "GOOGLE_CLOUD_API_KEY") }

// inHost matches text that is safe in a host name, and inPath text that is safe in a path.
var (
	inHost = lazyregexp.New(`^[a-z0-9-]{1,40}$`)
	inPath = lazyregexp.New(`^[A-Za-z0-9.:_-]{1,100}$`)
)

// BaseURL returns Google's own address for the location.
func (v Vertex) BaseURL() string {
	switch location := first(v.Getenv, locationVariables...); {
	case location == "global" || location == "" || !inHost().MatchString(location):
		return "https://aiplatform.googleapis.com"
	case location == "us" || location == "eu":
		return "https://aiplatform." + location + ".rep.googleapis.com"
	default:
		return "https://" + location + "-aiplatform.googleapis.com"
	}
}

// URL returns the address of a method of a publisher's model ("google", "anthropic"). The base URL u may have a version, or the
// path up to the location. With express, an API key implies the project, so none needs to be set.
func (v Vertex) URL(u *url.URL, publisher, model, method string, express bool) (*url.URL, error) {
	project, location := first(v.Getenv, projectVariables...), first(v.Getenv, locationVariables...)
	u = u.JoinPath("/")
	if last := u.Path[strings.LastIndexByte(strings.TrimSuffix(u.Path, "/"), '/')+1:]; !strings.Contains(u.Path, "/projects/") && !strings.HasPrefix(last, "v1") {
		u = u.JoinPath("v1")
	}
	switch {
	case strings.Contains(u.Path, "/projects/"):
	case express && project == "":
	case project == "":
		return nil, failed(providers.KindInvalid, "no project is set; set GOOGLE_CLOUD_PROJECT to the ID of your Google Cloud project")
	case location == "":
		return nil, failed(providers.KindInvalid, `no location is set; set GOOGLE_CLOUD_LOCATION to a region such as "us-east5", or to "global"`)
	case !inPath().MatchString(project):
		return nil, failed(providers.KindInvalid, "GOOGLE_CLOUD_PROJECT is not a project ID: %q", project)
	case !inHost().MatchString(location):
		return nil, failed(providers.KindInvalid, "GOOGLE_CLOUD_LOCATION is not a location: %q", location)
	default:
		u = u.JoinPath("projects", project, "locations", location)
	}
	return u.JoinPath("publishers", publisher, "models", strings.ReplaceAll(url.PathEscape(model), ":", "%3A")+":"+method), nil
}
