package proc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/proc"
)

func TestEnviron(t *testing.T) {
	for _, test := range []struct {
		name        string
		base, extra []string
		want        []string
	}{
		{"keys are removed", []string{
			"PATH=/bin", "ANTHROPIC_API_KEY=s", "OPENAI_API_KEY=s", "openai_api_key=s",
			"GEMINI_API_KEY=", "GJC_MY_API_KEY=s", "GJC_BRIDGE_TOKEN=s", "GJC_STORE=postgres://me:s@host/db",
			"GJC_GATEWAY={}", "OTEL_EXPORTER_OTLP_HEADERS=key=s", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=key=s",
		}, nil, []string{"PATH=/bin"}},
		{
			"the user's own tokens pass",
			[]string{"GITHUB_TOKEN=s", "STRIPE_API_KEY=s", "GJC_CONFIG_DIR=x", "MYGJC_API_KEY=s"},
			nil,
			[]string{"GITHUB_TOKEN=s", "STRIPE_API_KEY=s", "GJC_CONFIG_DIR=x", "MYGJC_API_KEY=s"},
		},
		{
			"what is meant for the child passes",
			[]string{"OPENAI_API_KEY=ours"},
			[]string{"OPENAI_API_KEY=its"},
			[]string{"OPENAI_API_KEY=its"},
		},
		{"the last wins", []string{"A=1", "B=1", "A=2"}, []string{"B=2", "C=", "B=3"}, []string{"A=2", "B=3", "C="}},
		{"values may hold anything", []string{"A=b=c", "E=é\n"}, nil, []string{"A=b=c", "E=é\n"}},
		{"nameless entries are dropped", []string{"", "novalue", "=x"}, []string{"alone"}, []string{}},
		{"drive directories of Windows pass", []string{`=C:=C:\w`}, nil, []string{`=C:=C:\w`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, proc.Environ(test.base, test.extra...)); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnviron_FoldsCaseOnWindows(t *testing.T) {
	got := proc.EnvironFolded([]string{"Path=1", "OpenAI_Api_Key=s"}, []string{"PATH=2"})
	if diff := cmp.Diff([]string{"PATH=2"}, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}
