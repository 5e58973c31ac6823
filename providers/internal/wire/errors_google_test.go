package wire

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/providers"
)

func TestClassify_Google(t *testing.T) {
	const exceeded = `"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"`
	for _, test := range []struct {
		status int
		body   string
		want   providers.ErrorKind
		wait   time.Duration
	}{
		{400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, providers.KindAuth, 0},
		{400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, providers.KindContextOverflow, 0},
		{400, `{"error":{"code":400,"message":"User location is not supported.","status":"FAILED_PRECONDITION"}}`, providers.KindInvalid, 0},
		{401, `[{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}]`, providers.KindAuth, 0},
		{429, `{"error":{"code":429,` + exceeded + `}}`, providers.KindQuota, 0},
		{429, `{"error":{"code":429,` + exceeded + `,"details":[{"@type":"t/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"@type":"t/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`, providers.KindRateLimit, 34500 * time.Millisecond},
		{429, `{"error":{"code":429,` + exceeded + `,"details":[{"@type":"t/google.rpc.RetryInfo","retryDelay":"3s"},{"@type":"t/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDay"},{"quotaId":"GeneratePerMinute"}]}]}}`, providers.KindQuota, 0},
		{429, `{"error":{"code":429,` + exceeded + `,"details":[{"@type":"t/google.rpc.RetryInfo","retryDelay":"3s"}]}}`, providers.KindRateLimit, 3 * time.Second},
		{429, `{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}`, providers.KindRateLimit, 0},
		{503, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, providers.KindOverloaded, 0},
		{0, `{"error":{"message":"late","status":"DEADLINE_EXCEEDED"}}`, providers.KindTimeout, 0},
		{404, `{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND","details":{"odd":1}}}`, providers.KindModel, 0},
		{400, `{"error":{"message":"x","status":400,"details":"text"}}`, providers.KindInvalid, 0},
		{0, `{"error":{"type":"throttlingException","message":"Too many tokens"}}`, providers.KindRateLimit, 0},
		{0, `{"error":{"type":"validationException","message":"Input is too long for requested model."}}`, providers.KindContextOverflow, 0},
	} {
		e := classify(&providers.Config{}, test.status, parseBody([]byte(test.body)))
		if e.Kind != test.want || e.RetryAfter != test.wait || e.Message == "" || strings.Contains(e.Message, "{") {
			t.Errorf("%s: %+v, want %s after %v", test.body, e, test.want, test.wait)
		}
	}
}

// AWS names an error in a header.
func TestStatusError_AWS(t *testing.T) {
	for name, want := range map[string]providers.ErrorKind{
		"ModelErrorException:http://internal.example/coral/": providers.KindServer, "ServiceQuotaExceededException": providers.KindQuota,
		"ThrottlingException": providers.KindRateLimit, "": providers.KindInvalid, "SomethingNew": providers.KindInvalid,
	} {
		res := &http.Response{StatusCode: http.StatusFailedDependency, Header: http.Header{"X-Amzn-Errortype": {name}}}
		err := statusError(&providers.Config{}, res, []byte(`{"message":"it went wrong"}`))
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func TestRedact_KeysOfOthers(t *testing.T) {
	got := redact(&providers.Config{}, "sk-0123456789abcdef AIzaSy0123456789abcdef ya29.a0Af_0123456789 key_word AIzaShort")
	if want := "sk-… AIza… ya29.… key_word AIzaShort"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
