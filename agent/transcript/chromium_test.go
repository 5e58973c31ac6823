package transcript_test

import (
	"bytes"
	"context"
	"html"
	"image"
	"image/png"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// browser is a headless Chromium without a network: all its requests go to its proxy.
type browser struct {
	t     *testing.T
	path  string
	proxy string

	mu    sync.Mutex // guards asked
	asked []string
}

func newBrowser(t *testing.T) *browser {
	b := &browser{t: t, path: testenv.NeedsChromium(t)}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b.mu.Lock()
			b.asked = append(b.asked, r.Host)
			b.mu.Unlock()
			http.Error(w, "there is no network", http.StatusBadGateway)
		}),
	}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		served.Wait()
	})
	b.proxy = "http://" + l.Addr().String()
	return b
}

// requests returns the requests for the host.
func (b *browser) requests(host string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, asked := range b.asked {
		if strings.Contains(asked, host) {
			n++
		}
	}
	return n
}

// run opens the file and returns the standard output.
func (b *browser) run(file string, args ...string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	dir := b.t.TempDir()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1", "--virtual-time-budget=3000",
		"--user-data-dir=" + filepath.Join(dir, "profile"), "--proxy-server=" + b.proxy, "--proxy-bypass-list=<-loopback>",
	}, args...)
	cmd := exec.CommandContext(ctx, b.path, append(args, (&url.URL{Scheme: "file", Path: file}).String())...)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", b.path, err, stderr.String())
	}
	return string(out)
}

// pixel returns the color of the top left pixel of a screenshot.
func (b *browser) corner(file string, args ...string) (light bool) {
	b.t.Helper()
	shot := filepath.Join(b.t.TempDir(), "shot.png")
	b.run(file, append(args, "--window-size=800,600", "--screenshot="+shot)...)
	f, err := os.Open(shot)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var img image.Image
	if img, err = png.Decode(f); err != nil {
		b.t.Fatal(err)
	}
	red, green, blue, _ := img.At(2, 2).RGBA()
	return red+green+blue > 3*0x8000
}

func saved(t *testing.T, dir, name, page string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// probe measures the page with a script. It removes the page's policy, which forbids scripts.
const probe = `<script>
addEventListener("load", () => {
  const all = [...document.querySelectorAll("details")], height = () => document.documentElement.scrollHeight;
  const folded = height();
  const wide = () => [...document.querySelectorAll("body *")].filter(e => {
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible") return false;
    return e.getBoundingClientRect().right > innerWidth + 0.5;
  }).map(e => e.tagName + "." + e.className);
  const wideFolded = wide();
  all.forEach(d => d.open = true);
  const open = height(), box = document.querySelector("svg").getBoundingClientRect(), bars = document.querySelectorAll("svg rect").length;
  parent.postMessage(JSON.stringify({
    width: innerWidth, scrollWidth: document.documentElement.scrollWidth, wide: wideFolded.concat(wide()), folded, open, details: all.length,
    chartWidth: box.width, chartHeight: box.height, bars, background: getComputedStyle(document.body).backgroundColor,
    preBackground: getComputedStyle(document.querySelector("pre")).backgroundColor,
  }), "*");
});
</script>`

type measured struct {
	Width         float64  `json:"width"`
	ScrollWidth   float64  `json:"scrollWidth"`
	Wide          []string `json:"wide"`
	Folded        float64  `json:"folded"`
	Open          float64  `json:"open"`
	Details       int      `json:"details"`
	ChartWidth    float64  `json:"chartWidth"`
	ChartHeight   float64  `json:"chartHeight"`
	Bars          int      `json:"bars"`
	Background    string   `json:"background"`
	PreBackground string   `json:"preBackground"`
}

var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// measure lays out the page in a frame of the given width.
func (b *browser) measure(page, width string, args ...string) measured {
	b.t.Helper()
	dir := b.t.TempDir()
	saved(b.t, dir, "page.html", policy.ReplaceAllString(page, "")+probe)
	frame := saved(b.t, dir, "frame.html", `<!DOCTYPE html><meta name="color-scheme" content="light dark"><p id="measured"></p><script>addEventListener("message", e => { document.getElementById("measured").textContent = e.data })</script>`+
		`<iframe src="page.html" width="`+width+`" height="800" style="border:0"></iframe>`)
	dom := b.run(frame, append(args, "--dump-dom", "--window-size=1400,900")...)
	_, rest, _ := strings.Cut(dom, `<p id="measured">`)
	text, _, _ := strings.Cut(rest, "</p>")
	var m measured
	if err := jsonx.Unmarshal([]byte(html.UnescapeString(text)), &m); err != nil {
		b.t.Fatalf("the page was not measured: %v\n%.2000s", err, dom)
	}
	return m
}

const dark = "--blink-settings=preferredColorScheme=0"

// The layout of the page in a browser.
func TestHTML_InABrowser(t *testing.T) {
	b := newBrowser(t)
	page := written(t, conversation(), transcript.HTML)
	for _, width := range []string{"400", "1100"} {
		m := b.measure(page, width)
		if m.ScrollWidth > m.Width || len(m.Wide) > 0 {
			t.Errorf("at %s pixels the page is %v wide: %v", width, m.ScrollWidth, m.Wide)
		}
		if m.Details < 10 || m.Open < m.Folded+500 {
			t.Errorf("at %s pixels %d folded parts make the page %v high, open %v", width, m.Details, m.Folded, m.Open)
		}
		if m.ChartWidth < 300 || m.ChartHeight < 50 || m.Bars != 5 {
			t.Errorf("at %s pixels the chart has %v × %v with %d bars", width, m.ChartWidth, m.ChartHeight, m.Bars)
		}
		if m.Background != "rgb(255, 255, 255)" || m.PreBackground == m.Background {
			t.Errorf("the background is %s, that of code %s: the styles do not hold", m.Background, m.PreBackground)
		}
	}
	if m := b.measure(page, "400", dark); m.Background == "rgb(255, 255, 255)" || m.ScrollWidth > m.Width {
		t.Errorf("dark: %+v", m)
	}
	path := saved(t, t.TempDir(), "page.html", page)
	if !b.corner(path) {
		t.Error("the light page is dark")
	}
	if b.corner(path, dark) {
		t.Error("the dark page is light")
	}
}

// The page loads nothing and runs nothing, even with an injected tag.
func TestHTML_LoadsNothing(t *testing.T) {
	b := newBrowser(t)
	dir := t.TempDir()
	attack := `![x](http://leak.example/1.png) <img src="http://leak.example/2.png"> [a](http://leak.example/3)` + "\n\n<script src=\"http://leak.example/4.js\"></script>\n\n" +
		`<style>@import "http://leak.example/5.css"; body{background:url(http://leak.example/6.png)}</style>`
	s := everywhere(attack, attack, "image/png", []byte("no picture"))
	page := written(t, s, transcript.HTML)
	b.run(saved(t, dir, "page.html", page), "--dump-dom")
	if n := b.requests("leak.example"); n > 0 {
		t.Errorf("the page has asked for %d things", n)
	}
	smuggled := attack + `<script>document.body.id = "ran"</script><p id="x" onclick="1" style="color:red">`
	dom := b.run(saved(t, dir, "smuggled.html", strings.Replace(page, "</main>", smuggled+"</main>", 1)), "--dump-dom")
	if n := b.requests("leak.example"); n > 0 || strings.Contains(dom, `id="ran"`) {
		t.Errorf("the policy lets %d requests out, or a script run:\n%.300s", n, dom)
	}
	// Check that the test detects requests.
	dom = b.run(saved(t, dir, "open.html", policy.ReplaceAllString(strings.Replace(page, "</main>", smuggled+"</main>", 1), "")), "--dump-dom")
	if n := b.requests("leak.example"); n == 0 || !strings.Contains(dom, `id="ran"`) {
		t.Errorf("without a policy %d requests went out", n)
	}
}
