package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// AWS is an AWS account, as configured by the environment and the files of the AWS CLI.
type AWS struct {
	// Getenv reads the environment. If nil, it is empty.
	Getenv func(string) string
	// ReadFile reads the files of profiles. If nil, [os.ReadFile].
	ReadFile func(string) ([]byte, error)
	// Home is the home directory, which contains the files of profiles; empty for none.
	Home string
	// Run runs the command line of a profile's credential_process and returns its output. If nil, such a profile cannot be
	// used.
	Run func(ctx context.Context, commandLine string) ([]byte, error)
}

const defaultRegion = "us-east-1"

// howToSignIn is the advice in errors about unusable credentials.
const howToSignIn = "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"

// profile returns the name and the settings of the profile in use. Those of the credentials file take precedence.
func (a AWS) profile() (name string, settings map[string]string, err error) {
	name = first(a.Getenv, "AWS_PROFILE", "AWS_DEFAULT_PROFILE")
	chosen := name != ""
	if !chosen {
		name = "default"
	}
	settings = map[string]string{}
	found := false
	for _, file := range []struct{ variable, name, section string }{
		{"AWS_CONFIG_FILE", "config", "profile " + name},
		{"AWS_SHARED_CREDENTIALS_FILE", "credentials", name},
	} {
		path := first(a.Getenv, file.variable)
		if path == "" && a.Home != "" {
			path = filepath.Join(a.Home, ".aws", file.name)
		}
		if path == "" {
			continue
		}
		data, err := readFile(a.ReadFile, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return name, nil, failed(providers.KindAuth, "cannot read the AWS profiles: %v", err)
		}
		section := file.section
		if name == "default" {
			section = name
		}
		if readProfile(string(data), section, settings) {
			found = true
		}
	}
	if chosen && !found {
		return name, nil, failed(providers.KindAuth, "unknown AWS profile %q", name)
	}
	return name, settings, nil
}

// readProfile reads a section of an AWS file into settings. It reports whether the section exists.
func readProfile(text, section string, settings map[string]string) bool {
	in, found := false, false
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "[") {
			name, _, _ := strings.Cut(trimmed[1:], "]")
			in = strings.Join(strings.Fields(name), " ") == section
			found = found || in
			continue
		}
		// Indented lines belong to a nested setting; nested settings are ignored.
		if !in || line[0] == ' ' || line[0] == '\t' || line[0] == '#' || line[0] == ';' {
			continue
		}
		if name, value, ok := strings.Cut(line, "="); ok {
			value, _, _ = strings.Cut(strings.TrimSpace(value), " #")
			settings[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return found
}

// Region returns the region of the environment or the profile, or us-east-1. It reads files.
func (a AWS) Region() string {
	if region := first(a.Getenv, "AWS_REGION", "AWS_DEFAULT_REGION"); region != "" {
		return region
	}
	if _, settings, err := a.profile(); err == nil && settings["region"] != "" {
		return settings["region"]
	}
	return defaultRegion
}

// Token returns the token of Amazon Bedrock from the environment.
func (a AWS) Token() string { return first(a.Getenv, "AWS_BEARER_TOKEN_BEDROCK") }

// Credentials describes the available credentials for people; it is empty for none. It reads files, runs nothing and does not
// use the network.
func (a AWS) Credentials() string {
	switch {
	case a.Token() != "":
		return "the token in AWS_BEARER_TOKEN_BEDROCK"
	case first(a.Getenv, "AWS_ACCESS_KEY_ID") != "" && first(a.Getenv, "AWS_SECRET_ACCESS_KEY") != "":
		return "the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	}
	name, settings, err := a.profile()
	if err != nil || settings["aws_access_key_id"] == "" && (settings["credential_process"] == "" || a.Run == nil) {
		return ""
	}
	return "AWS profile " + name
}

// An AWSSigner signs requests to one service. It is safe for concurrent use.
type AWSSigner struct {
	account AWS
	service string
	region  func() string
	cache   cached[aws.Credentials]
	now     func() time.Time
}

// Signer returns a signer for a service. It does no I/O: the first request reads the credentials and calls region.
func (a AWS) Signer(service string, region func() string) *AWSSigner {
	return &AWSSigner{account: a, service: service, region: region, now: time.Now}
}

// Sign signs req and its body by setting headers. It can be passed to wire.Endpoint.Sign.
func (s *AWSSigner) Sign(req *http.Request, body []byte) error {
	credentials, err := s.cache.get(req.Context(), s.account.next)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	err = v4.NewSigner().SignHTTP(req.Context(), credentials, req, hex.EncodeToString(sum[:]), s.service, s.region(), s.now())
	if err != nil {
		return failed(providers.KindAuth, "cannot sign the request for AWS: %v", err)
	}
	return nil
}

// next finds credentials in the environment, then in the profile.
func (a AWS) next(ctx context.Context) (aws.Credentials, time.Time, error) {
	c := aws.Credentials{
		AccessKeyID: first(a.Getenv, "AWS_ACCESS_KEY_ID"), SecretAccessKey: first(a.Getenv, "AWS_SECRET_ACCESS_KEY"),
		SessionToken: first(a.Getenv, "AWS_SESSION_TOKEN"),
	}
	if c.HasKeys() {
		return c, time.Time{}, nil
	}
	name, settings, err := a.profile()
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	c = aws.Credentials{
		AccessKeyID: settings["aws_access_key_id"], SecretAccessKey: settings["aws_secret_access_key"],
		SessionToken: settings["aws_session_token"],
	}
	switch {
	case c.HasKeys() && c.SessionToken != "":
		return c, time.Now(), nil // a program may renew them in the file at any time before they expire
	case c.HasKeys():
		return c, time.Time{}, nil
	case settings["credential_process"] != "" && a.Run != nil:
		return a.process(ctx, name, settings["credential_process"])
	case len(settings) > 0 && (settings["sso_session"] != "" || settings["sso_start_url"] != "" || settings["role_arn"] != "" || settings["credential_process"] != ""):
		return aws.Credentials{}, time.Time{}, failed(
			providers.KindAuth, "gjc does not support the sign-in of the AWS profile %q; run `aws configure export-credentials --profile %s --format env` "+
				"and start gjc with the variables that it prints", name, name,
		)
	}
	return aws.Credentials{}, time.Time{}, failed(providers.KindAuth, "no AWS credentials found; %s", howToSignIn)
}

// unsaid is the assumed lifetime of credentials whose expiry is unknown. Getting new ones may take a second.
const unsaid = 5 * time.Minute

// process runs the program that the profile names.
func (a AWS) process(ctx context.Context, name, commandLine string) (aws.Credentials, time.Time, error) {
	out, err := a.Run(ctx, commandLine)
	if ctx.Err() != nil {
		return aws.Credentials{}, time.Time{}, context.Cause(ctx)
	}
	if err != nil {
		return aws.Credentials{}, time.Time{}, failed(providers.KindAuth, "the credential_process of the AWS profile %q failed: %v", name, err)
	}
	var answer struct {
		AccessKeyID     string    `json:"AccessKeyId"`
		SecretAccessKey string    `json:"SecretAccessKey"`
		SessionToken    string    `json:"SessionToken"`
		Expiration      time.Time `json:"Expiration"`
	}
	if err := jsonx.Unmarshal(out, &answer); err != nil || answer.AccessKeyID == "" || answer.SecretAccessKey == "" {
		return aws.Credentials{}, time.Time{}, failed(providers.KindAuth, "the credential_process of the AWS profile %q does not print credentials", name)
	}
	until := answer.Expiration
	if until.IsZero() && answer.SessionToken != "" {
		until = time.Now().Add(unsaid)
	}
	return aws.Credentials{
		AccessKeyID: answer.AccessKeyID, SecretAccessKey: answer.SecretAccessKey, SessionToken: answer.SessionToken,
	}, until, nil
}
