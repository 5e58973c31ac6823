package meter

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Counters are the metrics of a server, in the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/).
// Their names begin with "gjc_". It is safe for concurrent use.
//
// The libraries for this work when a program starts, also for "gjc acp", which has no metrics; see docs/dependencies.md.
type Counters struct {
	mu sync.Mutex // guards the values
	// values are by name, and by labels in the form of the text format.
	values  map[string]map[string]float64
	took    map[string]*histogram // by method
	watched map[string]func() float64
}

// The names of metrics.
const (
	metricConnections = "gjc_connections"
	metricSessions    = "gjc_sessions"
	metricTurns       = "gjc_turns"
	metricRefused     = "gjc_refused_total"
	metricCost        = "gjc_cost_dollars_total"
	metricBytes       = "gjc_bytes_total"
	metricRequests    = "gjc_requests_total"
	metricSeconds     = "gjc_request_seconds"
	metricProviders   = "gjc_provider_requests_total"
)

// The labels of the two directions of a message.
const (
	fromClient = `{direction="in"}`
	toClient   = `{direction="out"}`
)

// help explains the metrics.
func help(name string) string {
	switch name {
	case metricConnections:
		return "Connections of clients."
	case metricSessions:
		return "Sessions that clients have open."
	case metricTurns:
		return "Turns that are running or waiting."
	case metricRefused:
		return "Requests refused for their token or for a limit."
	case metricCost:
		return "Price of the requests to models, as far as it is known."
	case metricBytes:
		return "Bytes of messages, in from clients and out to them."
	case metricRequests:
		return "Requests of clients by method and outcome, which is ok or error."
	case metricProviders:
		return "Requests to models with keys of the operator, by user, provider and outcome, which is ok or error."
	}
	return ""
}

// NewCounters returns the metrics, all zero.
func NewCounters() *Counters {
	c := &Counters{values: make(map[string]map[string]float64), took: make(map[string]*histogram), watched: make(map[string]func() float64)}
	for _, name := range []string{metricConnections, metricSessions, metricTurns, metricRefused, metricCost} {
		c.values[name] = map[string]float64{"": 0}
	}
	c.values[metricBytes] = map[string]float64{fromClient: 0, toClient: 0}
	c.values[metricRequests] = make(map[string]float64)
	c.values[metricProviders] = make(map[string]float64)
	c.Watch("go_goroutines", func() float64 { return float64(runtime.NumGoroutine()) })
	c.Watch("go_memstats_heap_alloc_bytes", func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	})
	return c
}

// add changes a value.
func (c *Counters) add(name, labels string, by float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[name][labels] += by
}

// request counts a request that was answered. Each method is a series of its own: the caller bounds them.
func (c *Counters) request(method, outcome string, took time.Duration) {
	c.add(metricRequests, fmt.Sprintf("{method=%q,outcome=%q}", method, outcome), 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.took[method] == nil {
		c.took[method] = new(histogram)
	}
	c.took[method].observe(took.Seconds())
}

// ProviderRequest counts a request to a model with a key of the operator. The outcome is "ok" or "error".
func (c *Counters) ProviderRequest(user, provider, outcome string) {
	c.add(metricProviders, fmt.Sprintf("{user=%q,provider=%q,outcome=%q}", user, provider, outcome), 1)
}

// Watch adds a gauge that is read whenever the metrics are.
func (c *Counters) Watch(name string, value func() float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched[name] = value
}

// Handler returns the handler of "/metrics".
func (c *Counters) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(c.text()) // the client may be gone
	})
}

// text returns all metrics, sorted by name.
func (c *Counters) text() []byte {
	c.mu.Lock()
	watched := maps.Clone(c.watched)
	c.mu.Unlock()
	now := make(map[string]float64)
	for name, value := range watched {
		now[name] = value() // it may lock what counts here
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		kind := "counter"
		if name == metricConnections || name == metricSessions || name == metricTurns {
			kind = "gauge"
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help(name), kind)
		for _, labels := range slices.Sorted(maps.Keys(c.values[name])) {
			fmt.Fprintf(&b, "%s%s %s\n", name, labels, number(c.values[name][labels]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintf(&b, "# TYPE %s gauge\n%[1]s %s\n", name, number(now[name]))
	}
	fmt.Fprintf(&b, "# HELP %s Time until a request was answered.\n# TYPE %[1]s histogram\n", metricSeconds)
	for _, method := range slices.Sorted(maps.Keys(c.took)) {
		c.took[method].text(&b, method)
	}
	return b.Bytes()
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// histogram counts durations by size.
type histogram struct {
	counts [9]uint64 // not cumulative; the last one has the longest
	sum    float64
}

// bounds are the upper bounds of all counts but the last, in seconds.
func bounds() [8]float64 { return [8]float64{.005, .02, .1, .5, 2, 10, 60, 600} }

func (h *histogram) observe(v float64) {
	all := bounds()
	i, _ := slices.BinarySearchFunc(all[:], v, cmp.Compare)
	h.counts[i]++
	h.sum += v
}

func (h *histogram) text(b *bytes.Buffer, method string) {
	total := uint64(0)
	for i, bound := range bounds() {
		total += h.counts[i]
		fmt.Fprintf(b, "%s_bucket{method=%q,le=%q} %d\n", metricSeconds, method, number(bound), total)
	}
	total += h.counts[len(h.counts)-1]
	fmt.Fprintf(b, "%s_bucket{method=%q,le=\"+Inf\"} %d\n%[1]s_sum{method=%[2]q} %[4]s\n%[1]s_count{method=%[2]q} %[3]d\n", metricSeconds, method, total, number(h.sum))
}
