//go:build unix

package transcript_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// browser is a headless Chromium without a network: all its requests go to its proxy. Tests control it with the DevTools protocol,
// over two pipes.
type browser struct {
	t       *testing.T
	session string // of the page
	next    int
	to      *os.File
	from    *bufio.Reader

	mu    sync.Mutex // guards asked
	asked []string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{t: t}
	path, proxy, dir := testenv.NeedsChromium(t), b.proxy(), t.TempDir()
	profile := filepath.Join(dir, "profile")
	// The test's own context ends before the browser is closed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 4*time.Minute)
	cmd := exec.CommandContext(ctx, path,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-pipe",
		"--user-data-dir="+profile, "--proxy-server="+proxy, "--proxy-bypass-list=<-loopback>", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.WaitDelay = 10 * time.Second
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{in, out} // descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Close(), out.Close()
	b.to, b.from = to, bufio.NewReaderSize(from, 1<<20)
	t.Cleanup(func() {
		_, _ = b.to.WriteString(`{"id":0,"method":"Browser.close"}` + "\x00")
		_ = cmd.Wait() // it ends with its processes, or is killed after its time
		cancel()
		_, _ = to.Close(), from.Close()
		// Its other processes may write their last files yet.
		for begin := time.Now(); os.RemoveAll(profile) != nil && time.Since(begin) < 10*time.Second; {
			runtime.Gosched()
		}
	})
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.do("Page.enable", nil, nil)
	return b
}

// proxy starts the proxy, which refuses and counts requests, and returns its address.
func (b *browser) proxy() string {
	b.t.Helper()
	l, err := new(net.ListenConfig).Listen(b.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
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
	b.t.Cleanup(func() {
		_ = server.Close()
		served.Wait()
	})
	return "http://" + l.Addr().String()
}

// requests returns the number of requests for the host.
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

type devtoolsMessage struct {
	ID     int       `json:"id"`
	Method string    `json:"method"`
	Result jsonx.Raw `json:"result"`
	Error  jsonx.Raw `json:"error"`
}

func (b *browser) read() devtoolsMessage {
	b.t.Helper()
	line, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("reading from the browser: %v", err)
	}
	var m devtoolsMessage
	if err := jsonx.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &m); err != nil {
		b.t.Fatalf("the browser sent %.300s: %v", line, err)
	}
	return m
}

// do calls a method and returns the names of the events before its answer.
func (b *browser) do(method string, params, result any) (events []string) {
	b.t.Helper()
	b.next++
	call := map[string]any{"id": b.next, "method": method}
	if params != nil {
		call["params"] = params
	}
	if b.session != "" {
		call["sessionId"] = b.session
	}
	data, err := jsonx.Marshal(call)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		b.t.Fatalf("writing to the browser: %v", err)
	}
	for {
		m := b.read()
		if m.ID != b.next {
			events = append(events, m.Method)
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error)
		}
		if result != nil {
			if err := jsonx.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s answers %.300s: %v", method, m.Result, err)
			}
		}
		return events
	}
}

// view has the settings with which a page is shown.
type view struct {
	width int
	dark  bool
	print bool
}

func (v view) String() string {
	if v.dark {
		return fmt.Sprintf("%d-dark", v.width)
	}
	return fmt.Sprintf("%d-light", v.width)
}

// open opens a file at a URL and waits until it is loaded.
func (b *browser) open(url string, v view) {
	b.t.Helper()
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	scheme, media := "light", ""
	if v.dark {
		scheme = "dark"
	}
	if v.print {
		media = "print"
	}
	b.do("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.do("Page.navigate", map[string]any{"url": "about:blank"}, nil) // so that the same file is loaded again
	b.settle()
	var nav struct {
		ErrorText string `json:"errorText"`
	}
	b.do("Page.navigate", map[string]any{"url": url}, &nav)
	if nav.ErrorText != "" {
		b.t.Fatalf("opening %s: %s", url, nav.ErrorText)
	}
	b.settle()
}

// settle waits until the page is loaded and painted.
func (b *browser) settle() {
	b.t.Helper()
	const loaded = `new Promise(done => { const painted = () => requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
		if (document.readyState === "complete") painted(); else addEventListener("load", painted) })`
	for range 50 {
		if b.try(loaded) == nil { // the navigation may destroy the page that was asked
			return
		}
	}
	b.t.Fatal("the page does not load")
}

func (b *browser) try(script string) error {
	var got struct {
		Exception jsonx.Raw `json:"exceptionDetails"`
	}
	b.do("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &got)
	if got.Exception != nil {
		return fmt.Errorf("%s", got.Exception)
	}
	return nil
}

// eval runs a script in the page, which its policy does not forbid, and decodes its value or that of its promise.
func (b *browser) eval(script string, to any) {
	b.t.Helper()
	var got struct {
		Result struct {
			Value jsonx.Raw `json:"value"`
		} `json:"result"`
		Exception jsonx.Raw `json:"exceptionDetails"`
	}
	b.do("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &got)
	if got.Exception != nil {
		b.t.Fatalf("the script fails: %s", got.Exception)
	}
	if to == nil {
		return
	}
	if err := jsonx.Unmarshal(got.Result.Value, to); err != nil {
		b.t.Fatalf("the script returns %.300s: %v", got.Result.Value, err)
	}
}

// binary calls a method whose result is data.
func (b *browser) binary(method string, params map[string]any) []byte {
	b.t.Helper()
	var got struct {
		Data string `json:"data"`
	}
	b.do(method, params, &got)
	data, err := base64.StdEncoding.DecodeString(got.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// shoot keeps a picture of the whole page with the artifacts of the test run, and returns it.
func (b *browser) shoot(name string) []byte {
	b.t.Helper()
	data := b.binary("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true})
	b.keep(name+".png", data)
	return data
}

// keep writes an artifact; without -artifacts it is removed with the test.
func (b *browser) keep(name string, data []byte) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name), data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
