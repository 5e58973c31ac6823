package registry_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/providers/registry"
)

// fakeKeyring is a keyring in memory that can be locked.
type fakeKeyring struct {
	mu      sync.Mutex
	secrets map[string]string
	err     error
	asked   int
	// onSet and onGet, if set, are called before a secret is stored or returned.
	onSet func()
	onGet func(ctx context.Context) error
}

func (k *fakeKeyring) Get(ctx context.Context, name string) (string, error) {
	if k.onGet != nil {
		if err := k.onGet(ctx); err != nil {
			return "", err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	if k.err != nil {
		return "", k.err
	}
	if s, ok := k.secrets[name]; ok {
		return s, nil
	}
	return "", registry.ErrNoSecret
}

func (k *fakeKeyring) Set(_ context.Context, name, secret string) error {
	if k.onSet != nil {
		k.onSet()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.secrets[name] = secret
	}
	return k.err
}

func (k *fakeKeyring) Delete(_ context.Context, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.secrets[name]; !ok && k.err == nil {
		return registry.ErrNoSecret
	}
	delete(k.secrets, name)
	return k.err
}

// Of several concurrent calls for a key only one prompts the user. A cancelled call does not wait for the answer; another call then
// prompts instead.
func TestRegistry_KeyringAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.write("auth.json", `{"anthropic":{"type":"keyring"}}`, 0o600)
		answer := make(chan struct{})
		ring := &fakeKeyring{secrets: map[string]string{"gjc/anthropic": `["the-key"]`}, onGet: func(ctx context.Context) error {
			select {
			case <-answer:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}}
		r := w.registry(func(o *registry.Options) { o.Keyring = ring })
		info, _, err := r.Find("anthropic/claude-opus-5-5")
		if err != nil {
			t.Fatal(err)
		}
		impatient, giveUp := context.WithCancelCause(t.Context())
		gone, opened := make(chan error, 1), make(chan error, 3)
		go func() {
			_, err := r.Open(impatient, info)
			gone <- err
		}()
		synctest.Wait()
		for range 3 {
			go func() {
				_, err := r.Open(t.Context(), info)
				opened <- err
			}()
		}
		synctest.Wait()
		cancelled := errors.New("cancelled")
		giveUp(cancelled)
		if err := <-gone; !errors.Is(err, cancelled) {
			t.Errorf("err = %v", err)
		}
		synctest.Wait()
		close(answer)
		for range 3 {
			if err := <-opened; err != nil {
				t.Error(err)
			}
		}
		if ring.asked != 1 || len(w.opened) != 1 || w.opened[0].APIKey != "the-key" {
			t.Errorf("asked %d times, opened %+v", ring.asked, w.opened)
		}
	})
}

// A keyring that waits for its user blocks no other model.
func TestRegistry_KeyringWaits(t *testing.T) {
	w := newWorld(t)
	w.env["OPENAI_API_KEY"] = "k"
	asking, answer := make(chan struct{}), make(chan struct{})
	r := w.registry(func(o *registry.Options) {
		o.Keyring = &fakeKeyring{secrets: map[string]string{}, onSet: func() { close(asking); <-answer }}
	})
	stored := make(chan error, 1)
	go func() { stored <- r.StoreKey("anthropic", "first-key", registry.StoreOptions{Keyring: true}) }()
	<-asking
	info, _, err := r.Find("openai/gpt-6.2-sol")
	if err == nil {
		_, err = r.Open(t.Context(), info)
	}
	if err != nil {
		t.Error(err)
	}
	close(answer)
	if err := <-stored; err != nil || r.CredentialSource("anthropic") != "keyring" {
		t.Errorf("%v, source %q", err, r.CredentialSource("anthropic"))
	}
}

func TestRegistry_Keyring(t *testing.T) {
	w := newWorld(t)
	ring := &fakeKeyring{secrets: map[string]string{}}
	open := func() *registry.Registry {
		return w.registry(func(o *registry.Options) { o.Keyring = ring })
	}
	r := open()
	if err := r.StoreKey("anthropic", "first-key", registry.StoreOptions{Keyring: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.StoreKey("anthropic", "second-key", registry.StoreOptions{Keyring: true, Add: true}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "auth.json")
	if data, _ := os.ReadFile(path); strings.Contains(string(data), "-key") || !strings.Contains(string(data), "keyring") {
		t.Errorf("auth.json = %s", data)
	}
	r = open()
	ring.asked = 0
	if source := r.CredentialSource("anthropic"); source != "keyring" || len(r.Models()) < 2 || ring.asked != 0 {
		t.Errorf("source %q; the keyring was asked %d times to list models", source, ring.asked)
	}
	info, _, _ := r.Find("anthropic/claude-opus-5-5")
	m, err := r.Open(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	for range m.Stream(t.Context(), &providers.Request{}) {
	}
	if got := w.opened[len(w.opened)-1].APIKey; got != "first-key" || ring.asked != 1 {
		t.Errorf("key %q, the keyring was asked %d times", got, ring.asked)
	}

	// A locked keyring is an error that says what to do, and other providers work.
	ring.err = errors.New("the user said no")
	r = open()
	info, _, _ = r.Find("anthropic/claude-opus-5-5")
	if _, err := r.Open(t.Context(), info); err == nil || !strings.Contains(err.Error(), "gjc login anthropic") || !errors.Is(err, ring.err) {
		t.Errorf("err = %v", err)
	}
	if err := r.StoreKey("openai", "k", registry.StoreOptions{Keyring: true}); err == nil {
		t.Error("a key that is not stored is no error")
	}
	if r.CredentialSource("openai") != "" {
		t.Error("a key that was not stored counts")
	}
	ring.err = nil
	// The user may have unlocked it.
	if _, err := r.Open(t.Context(), info); err != nil {
		t.Error(err)
	}

	// A key that is stored in the file is deleted from the keyring.
	if err := r.StoreKey("anthropic", "third-key", registry.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(ring.secrets) != 0 || r.CredentialSource("anthropic") != "auth.json" {
		t.Errorf("the keyring still has %d secrets; source %q", len(ring.secrets), r.CredentialSource("anthropic"))
	}
	if err := r.StoreKey("anthropic", "fourth-key", registry.StoreOptions{Keyring: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.Logout(); err != nil || len(ring.secrets) != 0 || r.CredentialSource("anthropic") != "" {
		t.Errorf("after the logout: %v, %d secrets", err, len(ring.secrets))
	}
	if err := w.registry().StoreKey("anthropic", "k", registry.StoreOptions{Keyring: true}); !errors.Is(err, registry.ErrNoKeyring) {
		t.Errorf("without a keyring: %v", err)
	}
}

// Keys are deleted from the keyring only after the file with them has been written.
func TestRegistry_KeyringAndNoFile(t *testing.T) {
	w := newWorld(t)
	ring := &fakeKeyring{secrets: map[string]string{}}
	r := w.registry(func(o *registry.Options) { o.Keyring = ring })
	if err := r.StoreKey("anthropic", "first-key", registry.StoreOptions{Keyring: true}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "auth.json")
	ring.onGet = func(context.Context) error { // the rename over a directory fails
		return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
	}
	if err := r.StoreKey("anthropic", "second-key", registry.StoreOptions{Add: true}); err == nil || !strings.Contains(err.Error(), "saving credentials") {
		t.Errorf("err = %v", err)
	}
	if len(ring.secrets) != 1 {
		t.Errorf("the keyring has %d secrets", len(ring.secrets))
	}
}

// Discovery in the background does not ask the keyring again.
func TestRegistry_KeyringAndDiscovery(t *testing.T) {
	w := newWorld(t)
	ring := &fakeKeyring{secrets: map[string]string{}}
	list := &serverList{models: map[string][]providers.ModelInfo{"lm-studio": {{ID: "found"}}}}
	r := w.registry(func(o *registry.Options) { o.Keyring, o.Discover = ring, list.discover })
	if err := r.StoreKey("anthropic", "first-key", registry.StoreOptions{Keyring: true}); err != nil {
		t.Fatal(err)
	}
	ring.asked = 0
	w.open(r, "anthropic/claude-opus-5-5")
	if changed, err := r.Discover(t.Context()); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if cfg := w.open(r, "anthropic/claude-opus-5-5"); cfg.APIKey != "first-key" || ring.asked != 1 {
		t.Errorf("key %q; the keyring was asked %d times", cfg.APIKey, ring.asked)
	}
}

func TestRegistry_StoreKey(t *testing.T) {
	w := newWorld(t)
	r := w.registry()
	for _, key := range []string{"one", "two", "one"} {
		if err := r.StoreKey("anthropic", key, registry.StoreOptions{Add: true}); err != nil {
			t.Fatal(err)
		}
	}
	data, _ := os.ReadFile(filepath.Join(w.dir, "auth.json"))
	if got := strings.TrimSpace(string(data)); got != `{"anthropic":{"type":"api_key","keys":["one","two"]}}` {
		t.Errorf("auth.json = %s", got)
	}
	if source := r.CredentialSource("anthropic"); source != "auth.json (2 keys)" {
		t.Errorf("source %q", source)
	}
	if err := r.StoreKey("anthropic", "a\nb", registry.StoreOptions{}); err == nil || strings.Contains(err.Error(), "a\nb") {
		t.Errorf("a key with a newline: %v", err)
	}
	if err := r.StoreKey("anthropic", "three", registry.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if cfg := w.open(r, "anthropic/claude-opus-5-5"); cfg.APIKey != "three" {
		t.Errorf("key %q: without Add the others go", cfg.APIKey)
	}
}

// Concurrent changes of auth.json by several processes are all kept.
func TestRegistry_StoreKeyConcurrently(t *testing.T) {
	w := newWorld(t)
	const n = 12
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := w.registry().StoreKey(fmt.Sprintf("p%d", i), "k", registry.StoreOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, _ := os.ReadFile(filepath.Join(w.dir, "auth.json"))
	if got := strings.Count(string(data), "api_key"); got != n {
		t.Errorf("%d of %d keys are left: %s", got, n, data)
	}
}

// rotationWorld returns a registry with a provider that has the keys a, b and c. Its models play a step for each key.
func rotationWorld(t *testing.T, now func() time.Time, answers map[string]func() providertest.Step) (*registry.Registry, *[]string) {
	t.Helper()
	w := newWorld(t)
	w.write("auth.json", `{"anthropic":{"type":"api_key","key":"a","keys":["b","c","a"]}}`, 0o600)
	used := new([]string)
	r := w.registry(func(o *registry.Options) {
		o.Now = now
		o.Factories["anthropic-messages"] = func(cfg providers.Config) (providers.Model, error) {
			script := providertest.NewScript(cfg.Info)
			script.Else(func(*providers.Request) providertest.Step {
				*used = append(*used, cfg.APIKey)
				return answers[cfg.APIKey]()
			})
			return script, nil
		}
	})
	return r, used
}

func TestRegistry_Rotation(t *testing.T) {
	now := time.Now()
	fail := func(e *providers.Error) func() providertest.Step {
		return func() providertest.Step { return providertest.Step{providertest.Fail(e)} }
	}
	good := func() providertest.Step { return providertest.Step{providertest.Text("ok")} }
	answers := map[string]func() providertest.Step{
		"a": fail(&providers.Error{Kind: providers.KindRateLimit, Status: 429, RetryAfter: 30 * time.Second}),
		"b": fail(&providers.Error{Kind: providers.KindAuth, Status: 401}),
		"c": good,
	}
	r, used := rotationWorld(t, func() time.Time { return now }, answers)
	ask := func(ref string) (string, error) {
		t.Helper()
		info, _, err := r.Find(ref)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Open(t.Context(), info)
		if err != nil {
			t.Fatal(err)
		}
		if m.Info().Ref() != ref {
			t.Errorf("info = %+v", m.Info())
		}
		*used = nil
		for ev, err := range m.Stream(t.Context(), &providers.Request{}) {
			if err != nil {
				return "", err
			}
			if done, ok := ev.(providers.Done); ok {
				return done.Message.Text(), nil
			}
		}
		return "", errors.New("no end")
	}
	want := func(keys ...string) {
		t.Helper()
		if diff := cmp.Diff(keys, *used); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
	const opus, sonnet = "anthropic/claude-opus-5-5", "anthropic/claude-sonnet-5-5"
	if text, err := ask(opus); err != nil || text != "ok" {
		t.Errorf("%q, %v", text, err)
	}
	want("a", "b", "c")
	// The working key stays in use, for all models of the provider.
	if _, err := ask(sonnet); err != nil {
		t.Error(err)
	}
	want("c")
	// When it is limited too, the error is returned; no key is tried again before its rest ends.
	answers["c"] = fail(&providers.Error{Kind: providers.KindQuota, Status: 429, ResetsAt: now.Add(time.Hour)})
	if _, err := ask(opus); err == nil {
		t.Error("no key is left, and no error")
	}
	want("c")
	// The limit of the first one has ended.
	now = now.Add(31 * time.Second)
	answers["a"] = good
	if _, err := ask(opus); err != nil {
		t.Error(err)
	}
	want("a")
	// An error that is not about the key is not retried with another.
	answers["a"] = fail(&providers.Error{Kind: providers.KindServer, Status: 500})
	now = now.Add(2 * time.Hour)
	if _, err := ask(opus); err == nil {
		t.Error("a failure is hidden")
	}
	want("a")
	// An answer that has begun is not restarted.
	answers["a"] = func() providertest.Step {
		return providertest.Step{providertest.Text("half"), providertest.Fail(&providers.Error{Kind: providers.KindRateLimit, Status: 429})}
	}
	if _, err := ask(opus); err == nil {
		t.Error("a broken answer is hidden")
	}
	want("a")
	// A key whose rest ends before the others have answered does not get the same request again.
	for _, key := range []string{"a", "b", "c"} {
		answers[key] = func() providertest.Step {
			now = now.Add(time.Second)
			return fail(&providers.Error{Kind: providers.KindRateLimit, Status: 429, RetryAfter: time.Second})()
		}
	}
	now = now.Add(time.Hour)
	if _, err := ask(opus); err == nil {
		t.Error("limits of all keys are hidden")
	}
	want("a", "b", "c")
}

func TestRegistry_TestKey(t *testing.T) {
	w := newWorld(t)
	var asked []providers.Config
	var failure error
	r := w.registry(func(o *registry.Options) {
		o.Factories["anthropic-messages"] = func(cfg providers.Config) (providers.Model, error) {
			asked = append(asked, cfg)
			script := providertest.NewScript(cfg.Info)
			script.Else(func(req *providers.Request) providertest.Step {
				if req.MaxTokens == 0 || req.MaxTokens > 100 {
					t.Errorf("the test may cost %d tokens", req.MaxTokens)
				}
				if failure != nil {
					return providertest.Step{providertest.Fail(failure)}
				}
				return providertest.Step{providertest.Text("OK")}
			})
			return script, nil
		}
	})
	if err := r.TestKey(t.Context(), "anthropic", " key \n"); err != nil {
		t.Error(err)
	}
	cheapest := asked[0].Info
	for _, m := range r.All() {
		if m.Provider == "anthropic" && m.Cost.Output < cheapest.Cost.Output {
			t.Errorf("%s was asked, and %s is cheaper", cheapest.Ref(), m.Ref())
		}
	}
	if asked[0].APIKey != "key" {
		t.Errorf("key %q", asked[0].APIKey)
	}
	failure = &providers.Error{Kind: providers.KindAuth, Status: 401}
	if err := r.TestKey(t.Context(), "anthropic", "key"); !errors.Is(err, failure) {
		t.Errorf("err = %v", err)
	}
	if err := r.TestKey(t.Context(), "nobody", "key"); !errors.Is(err, providers.ErrUnknownProvider) {
		t.Errorf("err = %v", err)
	}
	if r.CredentialSource("anthropic") != "" {
		t.Error("a test stores the key")
	}
}

// A server that accepts the request and stays silent ends the test of a key too.
func TestRegistry_TestKeyTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.registry(func(o *registry.Options) {
			o.Factories["anthropic-messages"] = func(cfg providers.Config) (providers.Model, error) {
				return silent{cfg.Info}, nil
			}
		})
		begin := time.Now()
		err := r.TestKey(t.Context(), "anthropic", "key")
		if err == nil || !strings.Contains(err.Error(), "anthropic did not answer within 30s") || time.Since(begin) != 30*time.Second {
			t.Errorf("err = %v after %v", err, time.Since(begin))
		}
	})
}

// silent is a model that yields nothing until the request's context ends.
type silent struct{ info providers.ModelInfo }

func (m silent) Info() providers.ModelInfo { return m.info }

func (m silent) Stream(ctx context.Context, _ *providers.Request) iter.Seq2[providers.Event, error] {
	return func(yield func(providers.Event, error) bool) {
		<-ctx.Done()
		yield(nil, context.Cause(ctx))
	}
}

// A link in place of auth.json stays a link.
func TestRegistry_StoreKeyThroughALink(t *testing.T) {
	w := newWorld(t)
	real := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(real, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(w.dir, "auth.json")
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if err := w.registry().StoreKey("openai", "k-1", registry.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(real)
	if info, lerr := os.Lstat(link); err != nil || lerr != nil || info.Mode()&os.ModeSymlink == 0 || !strings.Contains(string(data), "k-1") {
		t.Errorf("%v, %v; the target of the link: %s", err, lerr, data)
	}
}
