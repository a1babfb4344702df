package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"wiretime/serve"
)

// firstPort is where the server listens, in a network namespace of its own.
const firstPort = 8000

// serve starts a server that lasts, and clients that ask it, some of which are killed. stop ends them.
func (w *world) serve(ctx context.Context) (stop func(), err error) {
	p, urls, err := w.startServer()
	if err != nil {
		return nil, err
	}
	w.server = p
	tracked := w.track("wiretime serve", p)
	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	random := rand.New(rand.NewPCG(w.seed, 1))
	clients.Go(func() {
		for ctx.Err() == nil {
			w.ask(ctx, random, urls)
		}
	})
	return func() {
		cancel()
		clients.Wait()
		tracked()
		_ = syscall.Kill(p.Process.Pid, syscall.SIGTERM)
		select {
		case <-p.ended:
			if p.code() != 0 {
				w.wrong("the server ended with exit code %d: %s", p.code(), p.lastLine())
			}
		case <-time.After(patience):
			w.wrong("the server did not end after SIGTERM")
			_ = syscall.Kill(p.Process.Pid, syscall.SIGKILL)
			<-p.ended
		}
		w.server = nil
		if n := w.unanswered.Load(); n > 0 {
			w.wrong("%d requests of clients that lived were not answered", n)
		}
	}, nil
}

// startServer starts 'wiretime serve' and returns the URLs that it prints.
func (w *world) startServer() (p *program, urls []string, err error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	p = &program{Cmd: exec.Command(w.path("wiretime"), "serve", w.path("site"), "--port", fmt.Sprint(firstPort)), ended: make(chan struct{})}
	p.said = &lastWords{}
	p.Dir, p.Stdout, p.Stderr = w.path("home"), theirs, p.said
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = p.Start()
	_ = theirs.Close()
	if err != nil {
		return nil, nil, fmt.Errorf("start the server: %w", err)
	}
	go func() {
		_ = p.Wait() // ProcessState has its end
		close(p.ended)
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Certificate authority:") {
		if protocol, url, found := strings.Cut(lines.Text(), "  "); found && strings.Contains(url, "://") {
			urls = append(urls, protocol+"  "+strings.TrimSpace(url))
		}
	}
	go func() { // until the server has ended
		_, _ = io.Copy(io.Discard, out)
		_ = out.Close()
	}()
	if len(urls) == 0 {
		return nil, nil, errors.New("start the server: it printed no URL")
	}
	return p, urls, nil
}

// ask fetches the file over one protocol, and kills every third client within its first tenth of a second.
func (w *world) ask(ctx context.Context, random *rand.Rand, urls []string) {
	protocol, url, _ := strings.Cut(urls[random.IntN(len(urls))], "  ")
	args := []string{"get", "--insecure", "-o", "/dev/null", url + "file"}
	if protocol != serve.Any {
		args = append(args, "--protocol", protocol)
	}
	c := exec.Command(w.path("wiretime"), args...)
	c.Dir = w.path("home")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.Start() != nil {
		return
	}
	kill := random.IntN(3) == 0
	if kill {
		time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
		_ = c.Process.Kill() // it may have ended
	}
	err := c.Wait()
	w.asked.Add(1)
	if err != nil && !kill {
		w.unanswered.Add(1)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(random.Int64N(int64(time.Second)))):
	}
}

// served lists the programs that last.
func (w *world) served() []*program {
	if w.server == nil {
		return nil
	}
	return []*program{w.server}
}
