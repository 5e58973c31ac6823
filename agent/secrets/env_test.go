package secrets_test

import (
	"testing"

	"github.com/gajae-code/gjc/agent/secrets"
)

func TestFromEnv(t *testing.T) {
	for _, tt := range []struct {
		kv   string
		want bool
	}{
		{"ANTHROPIC_API_KEY=sk-ant-0123456789", true},
		{"openai_apikey=sk-0123456789", true},
		{"AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", true},
		{"AWS_SECRET_ACCESS_KEY=/wJalrXUtnFEMI/K7MDENG", true}, // starts like a path
		{"PGPASSWORD=correct horse battery", true},
		{"DB_PASS=hunter2hunter2", true},
		{"BASIC_AUTH=user:password1", true},
		{"DEPLOY_CREDENTIALS=abcdefgh", true},
		{"SIGNING_PRIVATE=abcdefgh", true},
		{"MY_OAUTH=abcdefgh", true},
		{"APP_TOKENS=abc,def,ghi", true},
		{"AUTH_URL=https://user:pw@auth.example.com", true},
		{"AUTH_URL=https://auth.example.com/cb?code=abc", true},
		{"AUTH_URL=https://auth.example.com/login", false},
		{"API_KEY=short", false},
		{"SSH_AUTH_SOCK=/run/user/1000/keyring/ssh", false},
		{"GOOGLE_APPLICATION_CREDENTIALS=/etc/cloud/key.json", false},
		{"TOKEN_FILE=~/.token-of-mine", false},
		{`KEY_FILE=C:\Users\me\key.pem`, false},
		{"GIT_AUTHOR_NAME=Some Body", false},
		{"KEYBOARD_LAYOUT=some-layout", false},
		{"MAX_OUTPUT_TOKENS=320000000", false},
		{"TOKEN_TTL=12:00:00 ", false},
		{"AUTH_MODE=Disabled", false},
		{"KEY_STORE=keychain", false},
		{"PATH=/usr/bin:/bin", false},
		{"HOME_OF_SECRETS_DIR=./secrets-dir", false},
		{"NOTHING", false},
	} {
		got := secrets.FromEnv([]string{tt.kv})
		if (len(got) == 1) != tt.want {
			t.Errorf("%s: %+v", tt.kv, got)
		}
	}
	two := secrets.FromEnv([]string{"Z_KEY=zzzzzzzzz", "A_KEY= aaaaaaaaa\n"})
	if len(two) != 2 || two[0].Content != "aaaaaaaaa" || two[0].Source != "the environment variable A_KEY" {
		t.Errorf("%+v", two)
	}
}
