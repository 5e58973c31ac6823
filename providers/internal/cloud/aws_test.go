package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
)

const (
	testKeyID  = "AKIDEXAMPLE"
	testSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" //nolint:gosec // of AWS's documentation
)

// The example from AWS's documentation of Signature Version 4.
func TestAWS_PublishedSignature(t *testing.T) {
	account := AWS{Getenv: env(map[string]string{"AWS_ACCESS_KEY_ID": testKeyID, "AWS_SECRET_ACCESS_KEY": testSecret})}
	signer := account.Signer("iam", account.Region)
	signer.now = func() time.Time { return time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC) }
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	if err := signer.Sign(req, nil); err != nil {
		t.Fatal(err)
	}
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, " +
		"Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
	if got := req.Header.Get("Authorization"); got != want || req.Header.Get("X-Amz-Date") != "20150830T123600Z" {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAWS_SignsTheBody(t *testing.T) {
	account := AWS{Getenv: env(map[string]string{"AWS_ACCESS_KEY_ID": testKeyID, "AWS_SECRET_ACCESS_KEY": testSecret, "AWS_SESSION_TOKEN": "st"})}
	signer := account.Signer("bedrock", func() string { return "eu-west-1" })
	signer.now = func() time.Time { return time.Unix(1e9, 0) }
	seen := map[string]bool{}
	for _, body := range []string{"a", "b", "a"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/model/a%3A0/invoke", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := signer.Sign(req, []byte(body)); err != nil {
			t.Fatal(err)
		}
		got := req.Header.Get("Authorization")
		if !strings.Contains(got, "/eu-west-1/bedrock/") || !strings.Contains(got, "x-amz-security-token") || req.Header.Get("X-Amz-Security-Token") != "st" {
			t.Errorf("header %v", req.Header)
		}
		seen[got] = true
	}
	if len(seen) != 2 {
		t.Errorf("%d signatures of two bodies", len(seen))
	}
}

const awsConfig = `
# a comment
[default]
region = eu-central-1
[profile work]
region=ap-south-1 # near
s3 =
  region = nested
credential_process = /bin/creds --profile "a b"
[profile single]
sso_session = corp
[sso-session corp]
aws_access_key_id = NOT-MINE
`

const awsCredentials = `
[default]
aws_access_key_id = AKDEFAULT
aws_secret_access_key = s1=/+
[ other ]
AWS_ACCESS_KEY_ID=AKOTHER
aws_secret_access_key=s2
aws_session_token=t2
`

func TestAWS_Chain(t *testing.T) {
	type result struct{ Key, Secret, Token, Region, Says, Err string }
	for _, test := range []struct {
		name string
		env  map[string]string
		run  string
		want result
	}{
		{"default profile", nil, "", result{"AKDEFAULT", "s1=/+", "", "eu-central-1", "AWS profile default", ""}},
		{"environment", map[string]string{"AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t", "AWS_DEFAULT_REGION": "r"}, "", result{"AKENV", "s", "t", "r", "the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", ""}},
		{"a token", map[string]string{"AWS_BEARER_TOKEN_BEDROCK": "b", "AWS_REGION": "r1", "AWS_DEFAULT_REGION": "r2"}, "", result{"AKDEFAULT", "s1=/+", "", "r1", "the token in AWS_BEARER_TOKEN_BEDROCK", ""}},
		{"another profile", map[string]string{"AWS_PROFILE": "other"}, "", result{"AKOTHER", "s2", "t2", "us-east-1", "AWS profile other", ""}},
		{"a program", map[string]string{"AWS_PROFILE": "work"}, `{"Version":1,"AccessKeyId":"AKP","SecretAccessKey":"sp","SessionToken":"tp"}`, result{"AKP", "sp", "tp", "ap-south-1", "AWS profile work", ""}},
		{"a program that fails", map[string]string{"AWS_PROFILE": "work"}, `no`, result{"", "", "", "ap-south-1", "AWS profile work", "does not print credentials"}},
		{"single sign-on", map[string]string{"AWS_PROFILE": "single"}, "", result{"", "", "", "us-east-1", "", "export-credentials --profile single"}},
		{"no such profile", map[string]string{"AWS_PROFILE": "gone"}, "", result{"", "", "", "us-east-1", "", `unknown AWS profile "gone"`}},
		{"files elsewhere", map[string]string{"AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none"}, "", result{"", "", "", "us-east-1", "", "AWS_BEARER_TOKEN_BEDROCK"}},
	} {
		account := AWS{
			Home: "/h", Getenv: env(test.env), ReadFile: files(map[string]string{"/h/.aws/config": awsConfig, "/h/.aws/credentials": awsCredentials}),
			Run: func(_ context.Context, line string) ([]byte, error) {
				if line != `/bin/creds --profile "a b"` {
					t.Errorf("%s: runs %s", test.name, line)
				}
				return []byte(test.run), nil
			},
		}
		c, _, err := account.next(t.Context())
		got := result{c.AccessKeyID, c.SecretAccessKey, c.SessionToken, account.Region(), account.Credentials(), ""}
		if err != nil {
			got.Err = test.want.Err
			if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindAuth || test.want.Err == "" || !strings.Contains(e.Message, test.want.Err) {
				t.Errorf("%s: err = %v", test.name, err)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestAWS_ProcessIsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		account := AWS{
			Home: "/h", Getenv: env(map[string]string{"AWS_PROFILE": "work"}), ReadFile: files(map[string]string{"/h/.aws/config": awsConfig}),
			Run: func(context.Context, string) ([]byte, error) {
				runs++
				return []byte(`{"AccessKeyId":"a","SecretAccessKey":"s","Expiration":"` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}`), nil
			},
		}
		signer := account.Signer("bedrock", account.Region)
		for _, wait := range []time.Duration{0, 50 * time.Minute, 10 * time.Minute} {
			time.Sleep(wait)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := signer.Sign(req, nil); err != nil {
				t.Fatal(err)
			}
		}
		if runs != 2 {
			t.Errorf("%d runs, want 2", runs)
		}
	})
}

// Credentials with a session token expire. If the expiry is unknown, they are not kept for the lifetime of gjc.
func TestAWS_TokenWithoutAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, runs := 0, 0
		signed := func(signer *AWSSigner) string {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := signer.Sign(req, nil); err != nil {
				t.Fatal(err)
			}
			return req.Header.Get("X-Amz-Security-Token")
		}
		stored := AWS{Home: "/h", Getenv: env(nil), ReadFile: func(name string) ([]byte, error) {
			if name != "/h/.aws/credentials" {
				return nil, fs.ErrNotExist
			}
			reads++
			return fmt.Appendf(nil, "[default]\naws_access_key_id=a\naws_secret_access_key=s\naws_session_token=t%d\n", reads), nil
		}}
		signer := stored.Signer("bedrock", func() string { return "us-east-1" })
		if first, second := signed(signer), signed(signer); first != "t1" || second != "t2" {
			t.Errorf("the file's tokens: %s, then %s", first, second)
		}
		program := AWS{
			Home: "/h", Getenv: env(map[string]string{"AWS_PROFILE": "work"}), ReadFile: files(map[string]string{"/h/.aws/config": awsConfig}),
			Run: func(context.Context, string) ([]byte, error) {
				runs++
				return fmt.Appendf(nil, `{"AccessKeyId":"a","SecretAccessKey":"s","SessionToken":"t%d"}`, runs), nil
			},
		}
		signer = program.Signer("bedrock", program.Region)
		var got []string
		for _, wait := range []time.Duration{0, time.Minute, 5 * time.Minute} {
			time.Sleep(wait)
			got = append(got, signed(signer))
		}
		if diff := cmp.Diff([]string{"t1", "t1", "t2"}, got); diff != "" {
			t.Errorf("the program's tokens (-want +got):\n%s", diff)
		}
	})
}

func FuzzReadProfile(f *testing.F) {
	f.Add(awsConfig, "profile work")
	f.Add(awsCredentials, "default")
	f.Fuzz(func(t *testing.T, text, section string) {
		settings := map[string]string{}
		if !readProfile(text, section, settings) && len(settings) > 0 {
			t.Errorf("%v of no section", settings)
		}
		for name, value := range settings {
			if strings.ContainsAny(name+value, "\n") || name != strings.ToLower(name) {
				t.Errorf("%q = %q", name, value)
			}
		}
	})
}
