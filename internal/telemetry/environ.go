package telemetry

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// environ reads the variables of OpenTelemetry, and collects what is wrong with them.
type environ struct {
	getenv   func(string) string
	problems []string
}

func (e *environ) problem(format string, args ...any) {
	e.problems = append(e.problems, fmt.Sprintf(format, args...))
}

// otlp returns the variable of traces, or else of all signals. An empty variable is not set.
func (e *environ) otlp(name string) (value, variable string) {
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
		if value := strings.TrimSpace(e.getenv(variable)); value != "" {
			return value, variable
		}
	}
	return "", ""
}

// number returns a positive number, or else fallback.
func (e *environ) number(variable, value string, fallback int) int {
	if value == "" {
		return fallback
	}
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 || n > math.MaxInt32 {
		e.problem("%s is %q, not a positive number; %d counts", variable, value, fallback)
		return fallback
	}
	return n
}

func (e *environ) milliseconds(variable, value string, fallback time.Duration) time.Duration {
	return time.Duration(e.number(variable, value, int(fallback.Milliseconds()))) * time.Millisecond
}

// pairs parses "key=value,key=value", in which the values are escaped as in URLs. It quotes no value: one may be a key.
func (e *environ) pairs(variable, text string, add func(key, value string)) {
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		plain, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil {
			e.problem("%s has an entry that is not key=value; it is ignored", variable)
			continue
		}
		add(key, plain)
	}
}

// FromEnviron returns the tracer that the standard variables of OpenTelemetry configure, or nil if they configure none. problems says what
// is wrong or not supported, for people. warn receives, later, what is lost. It does no I/O. The caller calls [Tracer.Close].
func FromEnviron(getenv func(string) string, version string, warn func(string)) (t *Tracer, problems []string) {
	e := &environ{getenv: getenv}
	s := e.settings()
	if s == nil {
		return nil, e.problems
	}
	sampler, err := newSampler(strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER")), strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER_ARG")))
	if err != nil {
		e.problem("%v", err)
	}
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: s.requestTime, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers have keys
	}
	return &Tracer{sampler: sampler, exporter: newExporter(s, client, e.resource(version), version, warn), now: time.Now}, e.problems
}

// settings returns the exporter's settings; nil for no exporter.
func (e *environ) settings() *settings {
	switch disabled := strings.TrimSpace(e.getenv("OTEL_SDK_DISABLED")); {
	case strings.EqualFold(disabled, "true"):
		return nil
	case disabled != "" && !strings.EqualFold(disabled, "false"):
		e.problem("OTEL_SDK_DISABLED is %q, neither true nor false; it counts as false", disabled)
	}
	address := e.address()
	switch name := strings.TrimSpace(e.getenv("OTEL_TRACES_EXPORTER")); {
	case name == "none", name == "" && address == "":
		return nil
	case name != "" && name != "otlp":
		e.problem("OTEL_TRACES_EXPORTER is %q; gjc has only otlp and none, and sends no traces", name)
		return nil
	}
	if address == "" {
		if len(e.problems) > 0 { // that of the address
			return nil
		}
		address = "http://localhost:4318/v1/traces"
	}
	if protocol, variable := e.otlp("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		e.problem("%s is %q; gjc has only http/protobuf, usually at port 4318, and sends no traces", variable, protocol)
		return nil
	}
	s := &settings{address: address, header: make(http.Header)}
	headers, variable := e.otlp("HEADERS")
	e.pairs(variable, headers, s.header.Set)
	switch compression, variable := e.otlp("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		s.compress = true
	default:
		e.problem("%s is %q; gjc has only gzip and none, and does not compress", variable, compression)
	}
	for _, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if _, variable := e.otlp(name); variable != "" {
			e.problem("%s is not supported; the system's certificates count (SSL_CERT_FILE adds to them)", variable)
		}
	}
	timeout, variable := e.otlp("TIMEOUT")
	s.requestTime = e.milliseconds(variable, timeout, 10*time.Second)
	bsp := func(name string) (variable, value string) {
		variable = "OTEL_BSP_" + name
		return variable, strings.TrimSpace(e.getenv(variable))
	}
	variable, value := bsp("SCHEDULE_DELAY")
	s.delay = e.milliseconds(variable, value, 5*time.Second)
	variable, value = bsp("EXPORT_TIMEOUT")
	s.exportTime = e.milliseconds(variable, value, 30*time.Second)
	variable, value = bsp("MAX_QUEUE_SIZE")
	s.queued = e.number(variable, value, 2048)
	variable, value = bsp("MAX_EXPORT_BATCH_SIZE")
	s.batch = min(e.number(variable, value, 512), s.queued)
	return s
}

// address returns the address of the collector; empty for none.
func (e *environ) address() string {
	text, variable := e.otlp("ENDPOINT")
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		e.problem("%s is not an address such as http://localhost:4318; no traces are sent", variable)
		return ""
	}
	if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1/traces")
	}
	return u.String()
}

// resource returns the attributes of this process.
func (e *environ) resource(version string) []attribute {
	all := []attribute{{"service.version", version}, {"telemetry.sdk.name", "gjc"}, {"telemetry.sdk.language", "go"}, {"telemetry.sdk.version", version}}
	name := strings.TrimSpace(e.getenv("OTEL_SERVICE_NAME"))
	e.pairs("OTEL_RESOURCE_ATTRIBUTES", e.getenv("OTEL_RESOURCE_ATTRIBUTES"), func(key, value string) {
		if key == "service.name" {
			name = cmp.Or(name, value)
			return
		}
		all = slices.DeleteFunc(all, func(a attribute) bool { return a.key == key })
		all = append(all, attribute{key, value})
	})
	return append(all, attribute{"service.name", cmp.Or(name, "gjc")})
}
