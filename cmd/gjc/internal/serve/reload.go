package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
)

// keyPair is the server's certificate, which is read again when the operator wants it.
type keyPair struct {
	cert, key string
	now       atomic.Pointer[tls.Certificate]
}

// openKeyPair reads a certificate; nil if there is none.
func openKeyPair(cert, key string) (*keyPair, error) {
	if cert == "" && key == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	if cert == "" || key == "" {
		return nil, errors.New("--tls-cert and --tls-key belong together")
	}
	p := &keyPair{cert: cert, key: key}
	return p, p.reload()
}

// reload reads the files again. If they are wrong, the last certificate stays.
func (p *keyPair) reload() error {
	pair, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return fmt.Errorf("--tls-cert: %w", err)
	}
	p.now.Store(&pair)
	return nil
}

// config returns the configuration of TLS. Connections that exist keep their certificate.
func (p *keyPair) config() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.now.Load(), nil },
		MinVersion:     tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}
}

// names reports whether the certificate is one for a name.
func (p *keyPair) names(host string) bool {
	leaf := p.now.Load().Leaf
	return leaf != nil && leaf.VerifyHostname(host) == nil
}

// logFile is a file that lines are appended to. When another program has moved it away, reload opens a new one. It is safe for concurrent
// use.
type logFile struct {
	path string
	mu   sync.Mutex // guards file
	file *os.File
}

// openLog opens a file, and creates it and its directory if necessary.
func openLog(path string) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil { //nolint:gosec // users of the operating system pass through it
		return nil, err
	}
	l := &logFile{path: path}
	return l, l.reload()
}

func (l *logFile) reload() error {
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("--audit-log: %w", err)
	}
	l.mu.Lock()
	old := l.file
	l.file = file
	l.mu.Unlock()
	if old == nil {
		return nil
	}
	return old.Close()
}

// Write implements [io.Writer].
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(p)
}

// Close implements [io.Closer].
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// reloading calls each function whenever a signal says so, until stop is called. What fails is logged, and stays as it was.
func reloading(log *zerolog.Logger, all ...func() error) (stop func()) {
	signals := reloadSignals()
	if len(signals) == 0 {
		return func() {}
	}
	signal.Reset(signals...) // for other commands, they are the end
	wanted, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(wanted, signals...)
	go func() { // ends with stop
		for {
			select {
			case <-done:
				return
			case <-wanted:
			}
			log.Info().Msg("reading files again")
			for _, reload := range all {
				if err := reload(); err != nil {
					log.Error().Err(err).Msg("reading files again")
				}
			}
		}
	}()
	return func() {
		signal.Stop(wanted)
		close(done)
	}
}
