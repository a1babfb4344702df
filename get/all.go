package get

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"sync"

	"wiretime/panics"
)

// Batch is several requests that are fetched together.
type Batch struct {
	Client   *http.Client
	Requests []*http.Request
	// Fail says that a status of 400 or more is an error; its body is then left out.
	Fail bool
}

// Fetch fetches the requests and writes the response bodies to out in the order of the
// requests. Requests to one origin are sent in that order, each as soon as the protocol
// allows. A failed request does not stop the others; the errors are joined.
func (b Batch) Fetch(ctx context.Context, out io.Writer) error {
	running := panics.Group{Guard: panics.From(ctx)}
	defer running.Wait()
	fetches := make([]*fetch, len(b.Requests))
	origins := make(map[string][]*fetch)
	var order []string
	for i, r := range b.Requests {
		f := &fetch{request: r, fail: b.Fail, sent: make(chan struct{}), done: make(chan struct{})}
		if i == 0 {
			f.out = out
		}
		fetches[i] = f
		key := r.URL.Scheme + "://" + address(r.URL)
		if origins[key] == nil {
			order = append(order, key)
		}
		origins[key] = append(origins[key], f)
	}
	for _, key := range order {
		running.Go(func() {
			for _, f := range origins[key] {
				running.Go(func() { f.run(ctx, b.Client) })
				select {
				case <-f.sent:
				case <-f.done:
				}
			}
		})
	}
	var errs []error
	for _, f := range fetches {
		<-f.done
		errs = append(errs, f.finish(out))
	}
	return errors.Join(errs...)
}

// fetch is one request of several.
type fetch struct {
	request *http.Request
	fail    bool
	out     io.Writer // destination of the body; nil: the body waits for its turn in waiting
	waiting *os.File
	sent    chan struct{}
	done    chan struct{}
	err     error
}

func (f *fetch) run(ctx context.Context, client *http.Client) {
	defer close(f.done)
	sent := sync.OnceFunc(func() { close(f.sent) })
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: sent})
	if err := f.fetch(ctx, client); err != nil {
		if told, ok := errors.AsType[*url.Error](err); ok {
			err = told.Err // drops net/http's mention of the URL
		}
		f.err = fmt.Errorf("fetch %s: %w", f.request.URL.Redacted(), err)
	}
}

func (f *fetch) fetch(ctx context.Context, client *http.Client) error {
	response, err := client.Do(f.request.WithContext(ctx))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if f.fail && response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("the server answered %s", response.Status)
	}
	out := f.out
	if out == nil {
		if f.waiting, err = unnamed(); err != nil {
			return fmt.Errorf("keep the body until its turn: %w", err)
		}
		out = f.waiting
	}
	if _, err := io.Copy(out, response.Body); err != nil {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		return fmt.Errorf("receive the body: %w", err)
	}
	return nil
}

// unnamed makes a temporary file without a name, which disappears with the process.
func unnamed() (*os.File, error) {
	file, err := os.CreateTemp("", "wiretime-get-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// finish writes a body that had to wait for its turn.
func (f *fetch) finish(out io.Writer) error {
	if f.waiting == nil {
		return f.err
	}
	defer f.waiting.Close()
	if f.err != nil {
		return f.err
	}
	if _, err := f.waiting.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("fetch %s: %w", f.request.URL.Redacted(), err)
	}
	if _, err := io.Copy(out, f.waiting); err != nil {
		return fmt.Errorf("write the body of %s: %w", f.request.URL.Redacted(), err)
	}
	return nil
}
